/**
 * The look. Track and secondary text are mixed from the page's own colour, and the three colours stand out on white as on black:
 * nothing has to be told whether the page is light or dark. Sizes are in em, so the page's text decides.
 *
 * Motion: the icon turns a little with each event, and the tip of the bar lights up, so the bar of an agent that fell silent stands
 * still. A new stage fades in. With reduced motion all of this is slower, and the icon stays as it is.
 *
 * Cheap for many: what is out of sight is skipped, and what glows or fades is painted, not put on a layer of its own.
 */
export const STYLE = `:host{
display:block;
content-visibility:auto;
contain-intrinsic-block-size:auto 4.4em;
line-height:1.4;
--_c:var(--agent-progress-accent,#4f6ef7);
--_dim:color-mix(in srgb,currentcolor 76%,transparent);
--_start:left;
--_end:right
}
:host(:dir(rtl)){--_start:right;--_end:left}
:host([hidden]){display:none}
#base{display:grid;gap:.35em;text-align:var(--_start)}
#head,#foot{display:flex;gap:.5em;align-items:baseline}
[data-status=paused]{--_c:color-mix(in srgb,currentcolor 55%,transparent)}
[data-status=done]{--_c:var(--agent-progress-done,#2a9d4e)}
[data-status=error]{--_c:var(--agent-progress-error,#e5484d)}
#icon{flex:none;inline-size:1em;block-size:1em;position:relative;inset-block-start:.13em;fill:var(--_c);fill-rule:evenodd}
#stage,#alert{font-weight:500}
#stage,#alert,#note{min-inline-size:0;overflow-wrap:anywhere}
#percent,#time{
flex:1 0 auto;
font-variant-numeric:tabular-nums;
white-space:nowrap;
text-align:var(--_end)
}
#percent{font-weight:600}
#foot{min-block-size:1.4em;font-size:.875em;color:var(--_dim)}
#said,#whose{
position:absolute;
inline-size:1px;
block-size:1px;
overflow:hidden;
clip-path:inset(50%);
white-space:nowrap
}
#stage:empty,#what:empty,#note:empty{display:none}
#bar{
box-sizing:border-box;
block-size:var(--agent-progress-thickness,.5em);
border-radius:var(--agent-progress-radius,99em);
background:var(--agent-progress-track,color-mix(in srgb,currentcolor 14%,transparent));
overflow:hidden;
contain:strict;
direction:ltr
}
#fill{
block-size:100%;
border-radius:inherit;
background:var(--_c);
overflow:hidden
}
[data-leap] #fill{transition:translate .4s cubic-bezier(.2,.7,.3,1)}
#fill::after{
content:"";
display:block;
block-size:100%;
inline-size:4em;
max-inline-size:100%;
margin-inline-start:auto;
background:linear-gradient(to right,transparent,currentcolor);
color:transparent
}
:host(:dir(rtl)) #bar{scale:-1 1}
[data-unknown] #fill,[data-status=paused] #fill{
background:repeating-linear-gradient(-45deg,var(--_c) 0 .3em,transparent 0 .5em)
}
[data-status=paused] #bar{filter:grayscale(1)}
#base[data-status=done] #fill{transition:none}
[data-status=error] #bar{background:none;box-shadow:inset 0 0 0 1px var(--_c)}
[data-stale] #time{font-weight:600}
[data-beat="0"] #fill::after{animation:glow0 .6s ease-out}
[data-beat="1"] #fill::after{animation:glow1 .6s ease-out}
[data-tick="0"] #stage{animation:tick0 .4s ease-out}
[data-tick="1"] #stage{animation:tick1 .4s ease-out}
@keyframes glow0{0%{color:#fffc}}
@keyframes glow1{0%{color:#fffc}}
@keyframes tick0{0%{color:transparent}}
@keyframes tick1{0%{color:transparent}}
:host([size=compact]){
contain:strict;
container-type:inline-size;
inline-size:100%;
block-size:1.4em;
min-inline-size:9em;
#base{grid:auto/auto minmax(0,3fr) minmax(3em,2fr) 2.75em 8.5em;align-items:center;gap:.6em}
#head,#foot{display:contents}
#stage,#what,#time{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
#icon{inset:0}
#stage,#alert{grid-area:1/2}
#bar{grid-area:1/3}
#note{display:none}
@container (max-width:26em){
#base{grid:auto/auto minmax(0,3fr) minmax(3em,2fr) 2.75em}
#time{display:none}
}
}
@media (prefers-reduced-motion:reduce){
#base #stage,#base #fill::after{animation-duration:2s}
[data-leap] #fill{transition:translate 1.2s linear}
#shape{transform:none}
}
@media (forced-colors:active){
:host{--_dim:currentcolor}
#icon{fill:currentcolor}
#bar{border:1px solid;background:none}
#fill{forced-color-adjust:none;--_c:Highlight}
#fill::after{display:none}
[data-status=paused] #fill{--_c:GrayText}
[data-status=error] #fill{--_c:CanvasText}
}`;
