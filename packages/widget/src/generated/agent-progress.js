"use strict";(()=>{var W=/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]/g,B=/[\t-\r\x85\u2028\u2029]+/g,K=/[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;function f(e,t=1/0){let n=e.replaceAll(W,"").replaceAll(B," ").replaceAll(K,"").toWellFormed().trim();return X(n,t)}function X(e,t){if(e.length<=t)return e;let n=0;for(let s=0;s<t&&n<e.length;s++)n+=e.codePointAt(n)>65535?2:1;return e.slice(0,n).trimEnd()}function R(e){return Math.min(100,Math.max(0,e))}function b(e,t){return e===void 0||t.status==="started"?t:e.status==="done"||e.status==="error"?e:t}function x(e){return e.status==="done"?100:Number.isFinite(e.percent)?Math.floor(R(e.percent)):void 0}var m=class{#t;#n=0;#r=-1/0;reset(){this.#t=void 0}next(t,n,s){let r=this.#t,o=t.status!==r?.status,a=Math.floor((t.percent??0)/25),i=a>this.#n;if(this.#t=t,r===void 0||o&&t.status==="started"?this.#n=a:i&&(this.#n=a),r===void 0||o&&t.status==="error")return"";let l=r.status==="paused"&&t.status==="running";if(!(!(o&&(t.status!=="running"||l))&&!(i&&t.status!=="error"&&s-this.#r>=5e3)))return this.#r=s,`${t.name}: ${l?`${n.resumed}, `:""}${t.spoken}`}};var S=["task_id","percent","eta_seconds","stage","status","timestamp","agent","message"];function k(e){return e.replace("_","-")}var N="http://www.w3.org/2000/svg",E={"aria-hidden":"true"},g={dir:"auto"},z=["base","div",{},[["head","div",{},[["icon","svg",{...E,viewBox:"0 0 16 16"},[["shape","path"]]],["stage","span",g],["alert","span",{role:"alert"},[["whose","span"],["what","span",g]]],["percent","span",E]]],["bar","div",{role:"progressbar","aria-valuemin":"0","aria-valuemax":"100"},[["fill","div"]]],["foot","div",{},[["note","span",g],["time","span",{...E,...g}]]],["said","span",{role:"status"}]]],L=["base","icon","stage","alert","percent","bar","fill","note","time"],M="M8 1a7 7 0 1 0 0 14A7 7 0 1 0 8 1z",J={started:`${M}M8 2.8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 1 1 8 2.8z`,running:"M8 1a7 7 0 1 1-7 7h1.8A5.2 5.2 0 1 0 8 2.8zM8 5a3 3 0 1 0 0 6a3 3 0 1 0 0-6z",paused:"M3 2h3.6v12H3zM9.4 2H13v12H9.4z",done:`${M}M6.9 11.7L3.4 8.2l1.3-1.3 2.2 2.2 4.5-4.5 1.3 1.3z`,error:"M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1zM5.2 6.4L6.8 8 5.2 9.6l1.2 1.2L8 9.2l1.6 1.6 1.2-1.2L9.2 8l1.6-1.6-1.2-1.2L8 6.8 6.4 5.2z"};function $(e,t){return{base:{"data-status":e.status,"data-stale":e.stale?"":null,"data-unknown":e.percent===void 0?"":null,title:t?e.stage+e.alert:null},shape:{d:J[e.status]},stage:{text:e.stage},whose:{text:e.alert&&`${e.name}: `},what:{text:e.alert},percent:{text:e.percentText},bar:{"aria-label":e.name,"aria-valuenow":e.percent===void 0?null:`${e.percent}`,"aria-valuetext":e.spoken},note:{text:e.note},time:{text:e.time}}}var O=`:host{
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
contain:strict
}
#fill{
block-size:100%;
border-radius:inherit;
background:var(--_c);
overflow:hidden;
translate:calc((var(--p) - 100)*1%)
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
:host(:dir(rtl)) #fill{translate:calc((100 - var(--p))*1%)}
:host(:dir(rtl)) #fill::after{scale:-1}
[data-unknown] #fill,[data-status=paused] #fill{
background:repeating-linear-gradient(-45deg,var(--_c) 0 .3em,transparent 0 .5em)
}
[data-status=paused] #bar{filter:grayscale(1)}
#base[data-status=done] #fill{transition:none}
[data-status=error] #bar{background:none;box-shadow:inset 0 0 0 1px var(--_c)}
[data-stale] #time{font-weight:600}
[data-beat="0"]{#fill::after{animation:glow0 .9s ease-out}#icon{animation:beat0 .9s ease-out}}
[data-beat="1"]{#fill::after{animation:glow1 .9s ease-out}#icon{animation:beat1 .9s ease-out}}
[data-tick="0"] #stage{animation:tick0 .25s ease-out}
[data-tick="1"] #stage{animation:tick1 .25s ease-out}
@keyframes glow0{0%{color:#fffc}}
@keyframes glow1{0%{color:#fffc}}
@keyframes beat0{0%{fill-opacity:.4}}
@keyframes beat1{0%{fill-opacity:.4}}
@keyframes tick0{0%{opacity:0;translate:0 var(--_rise,.35em)}}
@keyframes tick1{0%{opacity:0;translate:0 var(--_rise,.35em)}}
:host([size=compact]){
contain-intrinsic-block-size:auto 1.4em;
container-type:inline-size;
inline-size:100%;
min-inline-size:8em;
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
#base{--_rise:0}
#base :is(#icon,#stage),#base #fill::after{animation-duration:2s}
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
}`;var Q=60,Y=["started","running","paused","done","error"];function C(e,{words:t,now:n,label:s}){let r=(u,j)=>typeof u=="string"?f(u,j):"",o=Y.find(u=>u===e.status)??"started",a={status:o,percent:e.percent},i=x(a),l=i===void 0?"":t.percent(i),d=r(e.stage,120),c=r(e.message,280),p=o==="error",T=p?"":o!=="paused"?d||t[o]:d?t.pausedAt(d):t.paused,v=p?c||t.failed:"",[_,H=_,U=!1]=Z(e,o,{words:t,now:n}),G=r(e.agent,128);return{status:o,percent:i,percentText:l,fill:i===100||i===void 0?100:Math.max(0,a.percent),name:f(s,200)||r(e.task_id,128)||t.progress,stage:T,alert:v,note:[G,p?d:c].filter(u=>u!=="").join(" · "),time:_,stale:U,spoken:[T+v,l,H].filter(u=>u!=="").join(", ")}}function Z(e,t,{words:n,now:s}){if(t==="paused")return[n.timePaused];if(t==="done")return[n.timeDone];if(t==="error")return[n.timeError];let r=typeof e.timestamp=="string"?Date.parse(e.timestamp):NaN,o=s===void 0?0:Math.max(0,(s-r)/1e3)||0;if(o>=Q){let l=Math.floor(o);return[n.noUpdate(l),n.noUpdateSpoken(l),!0]}let a=e.eta_seconds;if(typeof a!="number"||!Number.isFinite(a)||a<0||a<o&&o>0)return[n.estimating];let i=Math.ceil(a-o);return[n.left(i),n.leftSpoken(i)]}var A={progress:"Progress",started:"Starting",running:"Working",paused:"Paused",done:"Done",failed:"Something went wrong",pausedAt:e=>`Paused — ${e}`,resumed:"Resumed",percent:e=>`${e}%`,estimating:"estimating…",timePaused:"paused",timeDone:"done",timeError:"failed",left:e=>`${I(e)} left`,leftSpoken:e=>`${F(e)} left`,noUpdate:e=>`no update for ${I(e)}`,noUpdateSpoken:e=>`no update for ${F(e)}`},P=86400;function I(e){if(e<60)return`${e} s`;if(e>=2*P)return D(e);let t=s=>`${s%60}`.padStart(2,"0"),n=Math.floor(e/60);return e<3600?`${n}:${t(e)}`:`${Math.floor(n/60)}:${t(n)}:${t(e)}`}function F(e){if(e>=2*P)return D(e);let t=Math.floor(e/60),n=Math.floor(t/60);return(n>0?[h(n,"hour"),h(t%60,"minute")]:[h(t,"minute"),h(e%60,"second")]).filter(r=>r!=="").join(" ")||"0 seconds"}function D(e){let t=Math.floor(e/P);return t>999?"more than 999 days":`${t} days`}function h(e,t){return e===0?"":`${e} ${t}${e===1?"":"s"}`}var ee=globalThis.HTMLElement??Object,w,te=900,y=class extends ee{static observedAttributes=[...S.map(k),"label","quiet","size"];#t=null;#n=null;#r=A;#i=new m;#e=new Map;#o;#a=!1;#l=0;#d=0;#u=-1/0;#f=0;get event(){return this.#t}set event(t){let n=this.#t??void 0,s=t?.task_id===n?.task_id;s||(this.#i.reset(),this.#o=void 0),this.#t=t&&b(s?n:void 0,t),this.#d+=1;let r=performance.now();r-this.#u>=te&&(this.#u=r,this.#c("data-beat")),this.#s()}get now(){return this.#n}set now(t){this.#n=t,this.#s()}get words(){return this.#r}set words(t){this.#r={...A,...t},this.#s()}connectedCallback(){if(this.#e.size>0)return;let t=this.shadowRoot??this.attachShadow({mode:"open"});t.getElementById("base")===null&&t.replaceChildren(V(z));for(let r of t.querySelectorAll("[id]"))this.#e.set(r.id,r);w===void 0&&(w=new CSSStyleSheet).replaceSync(O),t.adoptedStyleSheets=[w];let s=this;for(let r of["words","now","event"]){if(!Object.hasOwn(this,r))continue;let o=s[r];Reflect.deleteProperty(this,r),s[r]=o}this.#p(),t.querySelector("style")?.remove()}attributeChangedCallback(){this.#s()}#s(){this.#a||this.#e.size===0||(this.#a=!0,queueMicrotask(()=>{this.#a=!1,this.#p()}))}#p(){let t=C(this.#t??this.#m(),{words:this.#r,now:this.#n??void 0,label:this.getAttribute("label")??""}),n=this.#o,s=$(t,this.getAttribute("size")==="compact");for(let[i,l]of Object.entries(s)){let d=this.#e.get(i);for(let[c,p]of Object.entries(l))d!==void 0&&n?.[i][c]!==p&&q(d,c,p)}let r=this.#e.get("base"),o=Math.abs(t.fill-this.#l)>2;r.hasAttribute("data-leap")!==o&&r.toggleAttribute("data-leap",o),this.#e.get("fill").style.setProperty("--p",`${this.#l=t.fill}`),t.status==="running"&&this.#e.get("shape").setAttribute("transform",`rotate(${this.#d*45} 8 8)`),n!==void 0&&n.stage.text!==t.stage&&this.#c("data-tick"),this.#o=s;let a=this.#i.next(t,this.#r,performance.now());a!==void 0&&!this.hasAttribute("quiet")&&q(this.#e.get("said"),"text",a)}#m(){let t={};for(let n of S){let s=this.getAttribute(k(n));t[n]=s!==null&&(n==="percent"||n==="eta_seconds")?Number.parseFloat(s):s}return t}#c(t){this.#e.get("base")?.setAttribute(t,`${this.#f++%2}`)}};function V([e,t,n={},s=[]]){let r=t==="svg"||t==="path"?document.createElementNS(N,t):document.createElement(t);for(let o in n)r.setAttribute(o,n[o]);return r.id=e,L.includes(e)&&r.setAttribute("part",e),r.append(...s.map(V)),r}function q(e,t,n){let s=e.firstChild;t!=="text"?n===null?e.removeAttribute(t):e.setAttribute(t,n):e.textContent!==n&&(s===null?e.textContent=n:s.nodeValue=n)}globalThis.customElements?.get("agent-progress")===void 0&&globalThis.customElements?.define("agent-progress",y);})();
