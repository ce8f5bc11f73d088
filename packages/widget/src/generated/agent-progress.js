"use strict";(()=>{var B=/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]/g,K=/[\t-\r\x85\u2028\u2029]+/g,X=/[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;function p(e,t=1/0){let n=e.replaceAll(B,"").replaceAll(K," ").replaceAll(X,"").toWellFormed().trim();return J(n,t)}function J(e,t){if(e.length<=t)return e;let n=0;for(let s=0;s<t&&n<e.length;s++)n+=e.codePointAt(n)>65535?2:1;return e.slice(0,n).trimEnd()}function R(e){return Math.min(100,Math.max(0,e))}function y(e,t){return e===void 0||t.status==="started"?t:e.status==="done"||e.status==="error"?e:t}function b(e){return e.status==="done"?100:Number.isFinite(e.percent)?Math.floor(R(e.percent)):void 0}var c=class{#t;#n=0;#r=-1/0;reset(){this.#t=void 0}next(t,n,s){let r=this.#t,o=t.status!==r?.status,a=Math.floor((t.percent??0)/25),i=a>this.#n;if(this.#t=t,r===void 0||o&&t.status==="started"?this.#n=a:i&&(this.#n=a),r===void 0||o&&t.status==="error")return"";let l=r.status==="paused"&&t.status==="running";if(!(!(o&&(t.status!=="running"||l))&&!(i&&t.status!=="error"&&s-this.#r>=5e3)))return this.#r=s,`${t.name}: ${l?`${n.resumed}, `:""}${t.spoken}`}};var x=["task_id","percent","eta_seconds","stage","status","timestamp","agent","message"];function S(e){return e.replace("_","-")}var L="http://www.w3.org/2000/svg",k={"aria-hidden":"true"},f={dir:"auto"},z=["base","div",{},[["head","div",{},[["icon","svg",{...k,viewBox:"0 0 16 16"},[["shape","path"]]],["stage","span",f],["alert","span",{role:"alert"},[["whose","span"],["what","span",f]]],["percent","span",k]]],["bar","div",{role:"progressbar","aria-valuemin":"0","aria-valuemax":"100"},[["fill","div"]]],["foot","div",{},[["note","span",f],["time","span",{...k,...f}]]],["said","span",{role:"status"}]]],$=["base","icon","stage","alert","percent","bar","fill","note","time"],N="M8 1a7 7 0 1 0 0 14A7 7 0 1 0 8 1z",Q={started:`${N}M8 2.8a5.2 5.2 0 1 1 0 10.4A5.2 5.2 0 1 1 8 2.8z`,running:"M8 1a7 7 0 1 1-7 7h1.8A5.2 5.2 0 1 0 8 2.8zM8 5a3 3 0 1 0 0 6a3 3 0 1 0 0-6z",paused:"M3 2h3.6v12H3zM9.4 2H13v12H9.4z",done:`${N}M6.9 11.7L3.4 8.2l1.3-1.3 2.2 2.2 4.5-4.5 1.3 1.3z`,error:"M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1zM5.2 6.4L6.8 8 5.2 9.6l1.2 1.2L8 9.2l1.6 1.6 1.2-1.2L9.2 8l1.6-1.6-1.2-1.2L8 6.8 6.4 5.2z"},E=[["base","data-status"],["base","data-stale"],["base","data-unknown"],["base","title"],["shape","d"],["stage","text"],["whose","text"],["what","text"],["percent","text"],["bar","aria-label"],["bar","aria-valuenow"],["bar","aria-valuetext"],["note","text"],["time","text"]];function O(e,t){let n=e.percent===void 0;return[e.status,e.stale?"":null,n?"":null,t?e.stage+e.alert:null,Q[e.status],e.stage,e.alert&&`${e.name}: `,e.alert,e.percentText,e.name,n?null:`${e.percent}`,e.spoken,e.note,e.time]}var C=`:host{
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
}`;var Y=60,Z=["started","running","paused","done","error"];function I(e,{words:t,now:n,label:s}){let r=(u,W)=>typeof u=="string"?p(u,W):"",o=Z.find(u=>u===e.status)??"started",a={status:o,percent:e.percent},i=b(a),l=i===void 0?"":t.percent(i),d=r(e.stage,120),T=r(e.message,280),h=o==="error",v=h?"":o!=="paused"?d||t[o]:d?t.pausedAt(d):t.paused,_=h?T||t.failed:"",[M,U=M,G=!1]=ee(e,o,{words:t,now:n}),j=r(e.agent,128);return{status:o,percent:i,percentText:l,fill:i===100||i===void 0?100:Math.max(0,a.percent),name:p(s,200)||r(e.task_id,128)||t.progress,stage:v,alert:_,note:[j,h?d:T].filter(u=>u!=="").join(" · "),time:M,stale:G,spoken:[v+_,l,U].filter(u=>u!=="").join(", ")}}function ee(e,t,{words:n,now:s}){if(t==="paused")return[n.timePaused];if(t==="done")return[n.timeDone];if(t==="error")return[n.timeError];let r=typeof e.timestamp=="string"?Date.parse(e.timestamp):NaN,o=s===void 0?0:Math.max(0,(s-r)/1e3)||0;if(o>=Y){let l=Math.floor(o);return[n.noUpdate(l),n.noUpdateSpoken(l),!0]}let a=e.eta_seconds;if(typeof a!="number"||!Number.isFinite(a)||a<0||a<o&&o>0)return[n.estimating];let i=Math.ceil(a-o);return[n.left(i),n.leftSpoken(i)]}var A={progress:"Progress",started:"Starting",running:"Working",paused:"Paused",done:"Done",failed:"Something went wrong",pausedAt:e=>`Paused — ${e}`,resumed:"Resumed",percent:e=>`${e}%`,estimating:"estimating…",timePaused:"paused",timeDone:"done",timeError:"failed",left:e=>`${D(e)} left`,leftSpoken:e=>`${q(e)} left`,noUpdate:e=>`no update for ${D(e)}`,noUpdateSpoken:e=>`no update for ${q(e)}`},P=86400;function D(e){if(e<60)return`${e} s`;if(e>=2*P)return F(e);let t=s=>`${s%60}`.padStart(2,"0"),n=Math.floor(e/60);return e<3600?`${n}:${t(e)}`:`${Math.floor(n/60)}:${t(n)}:${t(e)}`}function q(e){if(e>=2*P)return F(e);let t=Math.floor(e/60),n=Math.floor(t/60);return(n>0?[m(n,"hour"),m(t%60,"minute")]:[m(t,"minute"),m(e%60,"second")]).filter(r=>r!=="").join(" ")||"0 seconds"}function F(e){let t=Math.floor(e/P);return t>999?"more than 999 days":`${t} days`}function m(e,t){return e===0?"":`${e} ${t}${e===1?"":"s"}`}var te=globalThis.HTMLElement??Object,w,ne=2e3,g=class extends te{static observedAttributes=[...x.map(S),"label","quiet","size"];#t=null;#n=null;#r=A;#i=new c;#e=new Map;#l=[];#d=!1;#o=!0;#a=!1;#u=0;#p=0;#c=-1/0;#g=0;get event(){return this.#t}set event(t){let n=this.#t??void 0,s=t?.task_id===n?.task_id;s||(this.#i.reset(),this.#o=!0),this.#t=t&&y(s?n:void 0,t),this.#p+=1;let r=performance.now();r-this.#c>=ne&&(this.#c=r,this.#m("data-beat")),this.#s()}get now(){return this.#n}set now(t){this.#n=t,this.#s()}get words(){return this.#r}set words(t){this.#r={...A,...t},this.#s()}connectedCallback(){if(this.#e.size>0)return;let t=this.shadowRoot??this.attachShadow({mode:"open"});t.getElementById("base")===null&&t.replaceChildren(H(z));for(let r of t.querySelectorAll("[id]"))this.#e.set(r.id,r);w===void 0&&(w=new CSSStyleSheet).replaceSync(C),t.adoptedStyleSheets=[w];let s=this;for(let r of["words","now","event"]){if(!Object.hasOwn(this,r))continue;let o=s[r];Reflect.deleteProperty(this,r),s[r]=o}this.#f(),t.querySelector("style")?.remove()}attributeChangedCallback(){this.#s()}#s(){this.#a||this.#e.size===0||(this.#a=!0,queueMicrotask(()=>{this.#a=!1,this.#f()}))}#f(){let t=I(this.#t??this.#h(),{words:this.#r,now:this.#n??void 0,label:this.getAttribute("label")??""}),n=this.#l,s=O(t,this.getAttribute("size")==="compact");for(let a=0;a<E.length;a+=1){let[i,l]=E[a],d=s[a];d!==n[a]&&V(this.#e.get(i),l,d),i==="stage"&&d!==n[a]&&!this.#o&&this.#m("data-tick")}let r=Math.abs(t.fill-this.#u)>2;r!==this.#d&&this.#e.get("base").toggleAttribute("data-leap",this.#d=r),this.#e.get("fill").style.translate=`${(this.#u=t.fill)-100}%`,t.status==="running"&&this.#e.get("shape").setAttribute("transform",`rotate(${this.#p*45} 8 8)`),this.#l=s,this.#o=!1;let o=this.#i.next(t,this.#r,performance.now());o!==void 0&&!this.hasAttribute("quiet")&&V(this.#e.get("said"),"text",o)}#h(){let t={};for(let n of x){let s=this.getAttribute(S(n));t[n]=s!==null&&(n==="percent"||n==="eta_seconds")?Number.parseFloat(s):s}return t}#m(t){this.#e.get("base")?.setAttribute(t,`${this.#g++%2}`)}};function H([e,t,n={},s=[]]){let r=t==="svg"||t==="path"?document.createElementNS(L,t):document.createElement(t);for(let o in n)r.setAttribute(o,n[o]);return r.id=e,$.includes(e)&&r.setAttribute("part",e),r.append(...s.map(H)),r}function V(e,t,n){let s=e.firstChild;t!=="text"?n===null?e.removeAttribute(t):e.setAttribute(t,n):e.textContent!==n&&(s===null?e.textContent=n:s.nodeValue=n)}globalThis.customElements?.get("agent-progress")===void 0&&globalThis.customElements?.define("agent-progress",g);})();
