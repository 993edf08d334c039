import{a as o,b as W,c,d as A,e as ae,f as ie,g as C,h,i as N,j as le,k as de,o as ce,p as j,r as ue,s as me}from"./chunk-XFDE25Y2.mjs";import{parentPort as yt,workerData as ht}from"node:worker_threads";import{DatabaseSync as vn}from"node:sqlite";var $n=200;function D(e,{busyMs:n}){let t=new vn(e);t.exec(`pragma busy_timeout = ${n}`);let r=new Map;function s(a){let i=r.get(a);if(i!==void 0)return i;r.size>=$n&&r.clear();let l=t.prepare(a);return r.set(a,l),l}return o(s,"prepared"),{prepared:s,all:o((a,...i)=>s(a).all(...i),"all"),get:o((a,...i)=>s(a).get(...i),"get"),run:o((a,...i)=>Number(s(a).run(...i).changes),"run"),exec:o(a=>t.exec(a),"exec"),close:o(()=>t.close(),"close")}}o(D,"connect");function J(e){return e.get("pragma database_list")?.file??""}o(J,"fileOf");function p(e,n){return Object.values(e.prepared(`pragma ${n}`).get()??{})[0]}o(p,"pragma");import{existsSync as ke}from"node:fs";import{statSync as xn}from"node:fs";function pe(e){let n=[r(e)];function t(l){try{return xn(l,{bigint:!0,throwIfNoEntry:!1})}catch(d){throw new c(h(d,e))}}o(t,"statOf");function r(l){let d=t(l);if(d===void 0)throw new c(N(l));return{file:l,dev:d.dev,ino:d.ino}}o(r,"hold");function s({file:l,dev:d,ino:u}){let m=t(l);return m?.ino===u&&m.dev===d}o(s,"isInPlace");function a(){let l=n.find(d=>!s(d));if(l!==void 0)throw new c(i()?de(e):N(l.file))}o(a,"check");function i(){let[l,d]=n,u=t(e)?.size??0n;return l!==void 0&&!s(l)&&u>0n&&d!==void 0&&s(d)}return o(i,"isNextToOldLog"),{holdLog(){n.push(r(`${e}-wal`),r(`${e}-shm`))},check:a}}o(pe,"holdFiles");var M=100,R=20,Cn=64*1024*1024;function fe(e,{path:n,durability:t},r){let s=Tn(r),a=Rn(e,s?"delete":"wal");if(s&&a==="wal")throw new c(we(n,r));return e.exec(`pragma synchronous = ${Mn[a][t]}`),e.exec("pragma fullfsync = on; pragma checkpoint_fullfsync = on"),e.exec(`pragma journal_size_limit = ${Cn}`),{sqliteVersion:r,mode:a,hasWalResetBug:s}}o(fe,"setUpJournal");var Mn={wal:{full:"full",normal:"normal"},delete:{full:"extra",normal:"full"}};function ye(e){return e.get("select sqlite_version() as version")?.version??""}o(ye,"sqliteVersionOf");function he(e,n,{sqliteVersion:t}){if(p(e,"journal_mode")==="wal")throw new c(we(n,t))}o(he,"refuseWal");function Rn(e,n){for(let t=M;;t--){let r=In(e,n);if(r===n||t===0)return r==="wal"?"wal":"delete";I(R)}}o(Rn,"settledMode");function I(e){Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0,e)}o(I,"wait");function In(e,n){try{return p(e,`journal_mode = ${n}`)}catch(t){if(!A(t))throw t;return n==="wal"?"delete":"wal"}}o(In,"askedMode");function we(e,n){return{code:"wal_in_use",problem:`Another process uses a write-ahead log on ${e}, and SQLite ${n} of this Node.js can corrupt one.`,remedy:"Run every process on a Node.js whose SQLite is 3.51.3 or newer, or stop the others first."}}o(we,"walInUse");function Tn(e){let[n=0,t=0,r=0]=e.split(".").map(Number);if(n!==3||t<7)return!1;let s={44:6,50:7,51:3}[t];return s===void 0?t<51:r<s}o(Tn,"hasWalResetBug");var V={};W(V,{id:()=>Sn,text:()=>An});var Sn="a9ac0e7fc1acfd67",An=`-- Events, handled ids, how far latestOnly has come, and small states. Times are in ms since the Unix epoch.

-- The migrations that were run. The id is that of the migration's text, so a file of another text is recognised.
create table esim_webhooks_migration (
  number integer primary key,
  id text not null,
  applied_at integer not null
) strict;

create table esim_webhooks_event (
  source text not null,
  id text not null,
  state text not null check (state in ('ready', 'leased', 'done', 'unhandled', 'dead')),
  -- random, and so never used twice: a counter could go back at a power cut, and make a late owner the present one
  fence text,
  -- ready: when it is due; leased: when the lease ends; done, unhandled: when it may be forgotten; dead: null
  ends_at integer,
  -- how long the lease or the wait was to be: one that ends further ahead than that shows that the clock was set back
  term_ms integer not null default 0,
  -- CRC-32 of the body, to tell another body of the same id; null where nobody knows the bytes that were signed
  fingerprint integer,
  type text,
  received_at integer,
  -- with microseconds after the point
  occurred_at real,
  lane text,
  attempts integer not null default 0,
  -- whether its last lease ended without a settlement
  suspect integer not null default 0,
  conflicts integer not null default 0,
  error text,
  -- since when a handler has put it off with retryLater; null if it has not since it was stored, redriven or run again
  waiting_since integer,
  -- what an import says of it, as JSON; null for a delivery
  replay text,
  -- JSON: the imports that had made the event ready before the one in replay
  runs text,
  -- null for an id that is worked inline, and once an event is done; last, so that nobody reads past it for another column
  body blob,
  -- the id first: it tells rows apart at its first bytes, where the source is mostly the same
  primary key (id, source)
) strict;

-- A partial index is used only where the query says its condition word for word.
create index esim_webhooks_event_due on esim_webhooks_event (ends_at, term_ms)
  where state = 'ready' and lane is null;

create index esim_webhooks_event_due_in_lane on esim_webhooks_event (ends_at, term_ms)
  where state = 'ready' and lane is not null;

create index esim_webhooks_event_suspect on esim_webhooks_event (ends_at)
  where state = 'ready' and suspect = 1;

create index esim_webhooks_event_leased on esim_webhooks_event (ends_at, term_ms)
  where state = 'leased' and body is not null;

create index esim_webhooks_event_forgettable on esim_webhooks_event (ends_at)
  where state in ('done', 'unhandled');

create index esim_webhooks_event_dead on esim_webhooks_event (received_at)
  where state = 'dead';

create index esim_webhooks_event_unhandled on esim_webhooks_event (received_at)
  where state = 'unhandled';

create index esim_webhooks_event_conflicts on esim_webhooks_event (conflicts)
  where conflicts > 0;

-- who is ahead in a lane, who is worked in it, and who died in it
create index esim_webhooks_event_lane on esim_webhooks_event (lane, occurred_at, source, id)
  where lane is not null and state in ('ready', 'leased');

create index esim_webhooks_event_lane_leased on esim_webhooks_event (lane)
  where lane is not null and state = 'leased';

create index esim_webhooks_event_lane_dead on esim_webhooks_event (lane, occurred_at, source, id)
  where lane is not null and state = 'dead';

-- how far latestOnly has come for each subject
create table esim_webhooks_latest (
  family text not null,
  subject text not null,
  occurred_at real not null,
  primary key (family, subject)
) strict, without rowid;

-- one row: what the last purge saw of the machine's clock, and before when nothing is deleted
create table esim_webhooks_purge_clock (
  one integer primary key check (one = 1),
  seen_at integer not null,
  held_until integer not null
) strict;

-- small durable states, such as the steps of a rotation, as JSON: written only by who knows the version that is there
create table esim_webhooks_state (
  name text primary key,
  value text not null,
  -- random, for the reason of fence
  version text not null
) strict, without rowid;
`;function g(e,n){e.run("begin immediate");try{let t=n({...e,nowMs:k(e)});return e.run("commit"),t}catch(t){throw H(e,"rollback"),t}}o(g,"inTransaction");var _=class extends Error{static{o(this,"TransactionEnded")}name="TransactionEnded"};function be(e,n){e.run("savepoint esim_webhooks");try{let t=n();return e.run("release esim_webhooks"),t}catch(t){throw H(e,"rollback to esim_webhooks")?(H(e,"release esim_webhooks"),t):new _("",{cause:t})}}o(be,"inSavepoint");function k(e){return e.get("select cast(unixepoch('subsec') * 1000 as integer) as now")?.now??0}o(k,"nowMs");function H(e,n){try{return e.run(n),!0}catch{return!1}}o(H,"undo");var v=[V];function _e(e,n){E(e,n)!==v.length&&g(e,({nowMs:t})=>{let r=E(e,n);for(let[s,{id:a,text:i}]of v.entries())s<r||(e.exec(i),e.run("insert into esim_webhooks_migration (number, id, applied_at) values (?, ?, ?)",s+1,a,t))})}o(_e,"migrate");function E(e,n){if(e.get("select 1 from sqlite_schema where name = 'esim_webhooks_migration'")===void 0)return 0;let r=e.all("select * from esim_webhooks_migration order by number"),s=r.slice(0,v.length),a=s.findIndex(({id:i},l)=>i!==v[l]?.id);if(a!==-1){let i=s[a]?.id;throw new c({code:"schema_mismatch",problem:`The tables in ${n} are not those of this version: their migration ${a+1} ${i===void 0?"has no id":`is "${i}"`}, and this version's is "${v[a]?.id}".`,remedy:'To keep the events and handled ids in them, move them to new tables as the README of @esim-webhooks/store-sqlite shows under "Tables of another version". Otherwise name another file.'})}if(r.length===s.length)return r.length;throw new c({code:"database_newer",problem:`The tables in ${n} are at migration ${r.length}, and this version knows ${v.length}.`,remedy:"Upgrade @esim-webhooks/store-sqlite in this process as well."})}o(E,"appliedMigrations");function T(e){e.run("insert into esim_webhooks_migration (number, id, applied_at) values (0, '', 0)"),e.run("delete from esim_webhooks_migration where number = 0")}o(T,"forceSync");function ge(e,{mode:n}){n==="wal"?En(e):g(e,T)}o(ge,"syncRecovered");function En(e){for(let n=M;n>0&&On(e);n--)I(R)}o(En,"syncLog");function On(e){try{return p(e,"wal_checkpoint(passive)")===1}catch(n){if(!ae(n))throw n;return!1}}o(On,"isCheckpointedByAnother");function ve(e){let{path:n,durability:t}=e,r=xe(e);try{let s=pe(J(r));p(r,"page_count")===0&&r.exec("pragma auto_vacuum = incremental");let a=fe(r,{path:n,durability:t},ye(r));return r.exec("pragma cache_size = -32768"),r.exec("pragma wal_autocheckpoint = 12288"),_e(r,n),a.mode==="wal"&&s.holdLog(),ge(r,a),{...r,journal:a,files:s}}catch(s){throw r.close(),s}}o(ve,"openWriter");function Q(e){let n=xe(e);return n.exec("pragma query_only = on"),n}o(Q,"openReader");function K(e){let n=Q(e);try{return n.get("select 1 from sqlite_schema"),n}catch(t){throw n.close(),t}}o(K,"openAsItIs");function $e(e){let n=K(e);try{if(E(n,e.path)>0)return n;throw new c({code:"invalid_option",problem:`The database ${e.path} holds no tables of esim-webhooks.`,remedy:"Check the path: name the file that your store or inbox was given."})}catch(t){throw n.close(),t}}o($e,"openSource");function xe({path:e,busyMs:n}){let t=D(e,{busyMs:n});try{return Pn(J(t)),t}catch(r){throw t.close(),r}}o(xe,"openConnection");function Pn(e){let n=o(()=>ke(`${e}-wal`)&&ke(`${e}-shm`),"hasLog");for(let t=M;!n()&&Ln(e);t--){if(t===0)throw new c(le(e));I(R)}}o(Pn,"refuseLostLog");function Ln(e){let n=D(e,{busyMs:0});try{return n.exec("pragma checkpoint_fullfsync = on; pragma locking_mode = exclusive"),n.get("select 1 from sqlite_schema"),!1}catch(t){if(A(t))return!0;throw t}finally{n.close()}}o(Ln,"isInUse");var Z={};W(Z,{backup:()=>Ce,copyCounts:()=>Se,count:()=>cn,dataVersion:()=>Ae,eventRecords:()=>Ee,get:()=>rn,latestRecords:()=>Oe,list:()=>tn,quickCheck:()=>Me,read:()=>Ge,readState:()=>an,sources:()=>un,stateRecords:()=>Pe,stats:()=>dn});function Ce(e,{file:n}){e.exec("pragma query_only = off");try{e.run("vacuum into ?",n)}catch(t){throw ie(t)?new c(h(t,n)):t}finally{e.exec("pragma query_only = on")}}o(Ce,"backup");function Me(e){let n=p(e,"quick_check(1)");return n==="ok"?void 0:String(n)}o(Me,"quickCheck");var w="(ends_at <= $now or ends_at > $now + term_ms + 1000)",Re=`ends_at <= min($now, coalesce(
  (select iif(held_until > seen_at, 0, seen_at + 3600000) from esim_webhooks_purge_clock where one = 1), $now
))`,b="lower(hex(randomblob(12)))",O="The lease ended before its worker settled it.";function Ie(e){for(let n of["lane is null","lane is not null"])e.run(`update esim_webhooks_event set ends_at = $now + term_ms
      where state = 'ready' and ${n} and ends_at > $now + 1000 and ends_at > $now + term_ms + 1000`,{now:e.nowMs})}o(Ie,"shortenWaits");var U=500,qn=8*1024*1024,Te=`(state <> 'leased' or body is not null and ${w})`;function Se(e,n){return{events:0,leased:0,...e.get(`select count(*) filter (where ${Te}) as events,
      count(*) filter (where state = 'leased' and not ${w}) as leased
    from esim_webhooks_event`,{now:k(e)})}}o(Se,"copyCounts");function Ae(e,n){return Number(p(e,"data_version"))}o(Ae,"dataVersion");function Ee(e,{after:n}){let t=e.prepared(`select source, id, iif(state = 'leased', 'ready', state) as state, type, lane, fingerprint,
      received_at as receivedAtMs, occurred_at as occurredAtMs,
      iif(state = 'leased', min(ends_at, $now), ends_at) as endsAtMs, attempts, conflicts,
      iif(state = 'leased', coalesce(error, $leaseEnded), error) as error, replay, runs, body
    from esim_webhooks_event
    where ${Te} ${n===void 0?"":"and (id, source) > ($id, $source)"}
    order by id, source limit ${U}`),r={now:k(e),leaseEnded:O,...n&&{id:n.id,source:n.source}},s=[],a=0;for(let i of t.iterate(r))if(s.push(Bn(i)),a+=i.body?.byteLength??0,a>=qn)break;return s}o(Ee,"eventRecords");function Bn({replay:e,runs:n,...t}){return{...t,replay:e===null?null:JSON.parse(e),runs:n===null?[]:JSON.parse(n)}}o(Bn,"recordOf");function Oe(e,{after:n}){return e.all(`select family, subject, occurred_at as occurredAtMs from esim_webhooks_latest
    where ${n===void 0?"true":"(family, subject) > (?, ?)"} order by family, subject limit ${U}`,...n===void 0?[]:[n.family,n.subject])}o(Oe,"latestRecords");function Pe(e,{after:n}){return e.all(`select name, value from esim_webhooks_state where name > ? order by name limit ${U}`,n?.name??"")}o(Pe,"stateRecords");import{crc32 as Fn}from"node:zlib";function qe(e,{rows:n}){return n.map(t=>Wn(e,t)?"stored":Nn(e,t))}o(qe,"put");function Wn(e,n){let{id:t,source:r,type:s,receivedAt:a,occurredAt:i,lane:l,replay:d,body:u}=n;return e.run(`insert into esim_webhooks_event
      (ends_at, id, source, state, type, received_at, occurred_at, lane, replay, fingerprint, body)
    values (?, ?, ?, 'ready', ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,e.nowMs,t,r,s,a,i,l,d,Y(n),u)>0}o(Wn,"insert");var Le="(state = 'leased' and body is null)";function Nn(e,n){let t=e.get(`select ${Le} as inline, iif(${Le} and ${w}, null, fingerprint) as fingerprint,
      coalesce(replay ->> 'rebuilt', 0) as rebuilt
    from esim_webhooks_event where id = $id and source = $source`,{now:e.nowMs,id:n.id,source:n.source}),r=t!==void 0&&jn(n,t);return t?.inline&&!r?(Dn(e,n),"stored"):r?(z(e,n),"conflict"):"duplicate"}o(Nn,"compare");function jn(e,{fingerprint:n,rebuilt:t}){return n===null||e.rebuilt!==(t===1)?!1:n!==Y(e)}o(jn,"differs");function Dn(e,n){let{lane:t,...r}=Fe(n);e.run(`update esim_webhooks_event
    set type = $type, received_at = $receivedAt, occurred_at = $occurredAt, replay = $replay,
      fingerprint = $fingerprint, body = $body
    where id = $id and source = $source`,r)}o(Dn,"leaveBody");function z(e,{source:n,id:t}){e.run("update esim_webhooks_event set conflicts = conflicts + 1 where id = ? and source = ?",t,n)}o(z,"countConflict");function Be(e,{rows:n}){return n.map(t=>e.run(`update esim_webhooks_event
      set state = 'ready', ends_at = $now, term_ms = 0, attempts = 0, suspect = 0, error = null, type = $type, received_at = $receivedAt,
        occurred_at = $occurredAt, lane = $lane, replay = $replay, fingerprint = $fingerprint, body = $body,
        runs = iif(replay is null, runs, json_insert(coalesce(runs, '[]'), '$[#]', replay ->> 'run'))
      where id = $id and source = $source and state = 'done'
        and replay ->> 'run' is not $replay ->> 'run'
        and not exists (select 1 from json_each(runs) where value = $replay ->> 'run')`,{now:e.nowMs,...Fe(t)})>0)}o(Be,"rerun");function Fe({rebuilt:e,...n}){return{...n,fingerprint:Y(n)}}o(Fe,"rowParameters");function Y({body:e}){return Fn(e)}o(Y,"fingerprintOf");var Jn=1e3;function Ne(e,n){let t=Vn(e,n.key);if(t===void 0)return Qn(e,n);let r=Hn(t,n)&&{conflict:!0};if(t.queued){let s=t.state==="dead"?"dead":"waiting";return{status:"busy",retryAfterMs:Math.max(t.leftMs,Jn),...r,inInbox:s}}return t.state==="unhandled"&&!r?We(e,n,Un):t.ended?We(e,n,Kn):t.state==="leased"?{status:"busy",retryAfterMs:t.leftMs,...r}:(r&&z(e,n.key),{status:"done",...r})}o(Ne,"claim");function Vn(e,{id:n,source:t}){return e.get(`select state, state not in ('done', 'unhandled') and body is not null as queued,
      case state when 'leased' then ${w} else ${Re} end as ended,
      coalesce(ends_at - $now, 0) as leftMs,
      iif(coalesce(replay ->> 'rebuilt', 0), null, fingerprint) as fingerprint
    from esim_webhooks_event where id = $id and source = $source`,{now:e.nowMs,id:n,source:t})}o(Vn,"look");function Hn(e,{fingerprint:n}){return n!==void 0&&e.fingerprint!==null&&e.fingerprint!==n}o(Hn,"isConflict");function Qn(e,n){return{status:"claimed",token:e.get(`insert into esim_webhooks_event (source, id, state, fence, ends_at, term_ms, fingerprint)
    values ($source, $id, 'leased', ${b}, $now + $leaseMs, $leaseMs, $fingerprint) returning fence as token`,je(e,n))?.token??""}}o(Qn,"insert");var Kn="fingerprint = $fingerprint, body = null, replay = null, runs = null",Un="fingerprint = coalesce(fingerprint, $fingerprint)";function We(e,n,t){return{status:"claimed",token:e.get(`update esim_webhooks_event
    set state = 'leased', fence = ${b}, ends_at = $now + $leaseMs, term_ms = $leaseMs, lane = null, ${t}
    where id = $id and source = $source returning fence as token`,je(e,n))?.token??""}}o(We,"takeOver");function je({nowMs:e},{key:n,leaseMs:t,fingerprint:r}){return{now:e,id:n.id,source:n.source,leaseMs:t,fingerprint:r??null}}o(je,"claimParameters");var G="id = $id and source = $source and fence = $token",P=`${G} and state = 'leased' and not ${w}`;function L({nowMs:e},{key:{id:n,source:t},token:r}){return{now:e,id:n,source:t,token:r}}o(L,"claimedParameters");function De(e,n){return e.run(`update esim_webhooks_event set ends_at = $now + $leaseMs, term_ms = $leaseMs where ${P}`,{...L(e,n),leaseMs:n.leaseMs})>0}o(De,"extend");function Je(e,n){return He(e,n,P)||zn(e,n)}o(Je,"complete");function Ve(e,n){return He(e,n,`${G} and state = 'leased'`)}o(Ve,"completeByFence");function He(e,n,t){return e.run(`update esim_webhooks_event set state = 'done', body = null, ends_at = $now + $retentionMs where ${t}`,{...L(e,n),retentionMs:n.retentionMs})>0}o(He,"markDone");function zn(e,n){let{now:t,...r}=L(e,n);return e.get(`select 1 from esim_webhooks_event where ${G} and state = 'done'`,r)!==void 0}o(zn,"isDone");function Qe(e,n){let t=L(e,n),r=`update esim_webhooks_event set state = 'ready', ends_at = $now, term_ms = 0 where ${P}`;return e.run(`delete from esim_webhooks_event where ${P} and body is null`,t)>0||e.run(r,t)>0}o(Qe,"release");function q(e,{settlements:n,rules:t}){return n.map(r=>{let{state:s,endsAt:a,termMs:i,error:l,refund:d,staysSuspect:u,keepsWait:m,waitingSince:f,keepsBody:y}=Yn(e,r,t);return e.run(`update esim_webhooks_event
      set state = ?, ends_at = ?, term_ms = ?, error = ?, attempts = attempts - ?, suspect = suspect and ?,
        waiting_since = iif(?, coalesce(waiting_since, ?), null), body = iif(?, body, null)
      where id = ? and source = ? and fence = ? and state = 'leased'`,s,a,i,l,d,u,m,f,y?1:0,r.id,r.source,r.token)>0})}o(q,"settle");function Yn({nowMs:e},n,t){let r={termMs:0,error:null,refund:0,staysSuspect:0,keepsWait:0,waitingSince:null,keepsBody:!0};switch(n.state){case"done":return{...r,state:"done",endsAt:e+t.retentionMs,keepsBody:t.keepBodies};case"unhandled":return{...r,state:"unhandled",endsAt:e+t.retentionMs};case"ready":return{...r,...Ke(e,n),keepsWait:1};case"waiting":return{...r,...Ke(e,n),refund:1,keepsWait:1,waitingSince:e};case"untouched":return{...r,state:"ready",endsAt:e,refund:1,staysSuspect:1,keepsWait:1};case"dead":return{...r,state:"dead",endsAt:null,error:Ue(n.error)}}}o(Yn,"written");function Ke(e,{afterMs:n,error:t}){let r=Math.ceil(Math.min(n,31536e8));return{state:"ready",endsAt:e+r,termMs:r,error:Ue(t)}}o(Ke,"putOff");function Ue(e){return e.slice(0,4e3)}o(Ue,"storable");function ze(e,{leases:n,leaseMs:t}){return n.map(({source:r,id:s,token:a})=>e.run(`update esim_webhooks_event set ends_at = $now + $leaseMs, term_ms = $leaseMs
      where id = $id and source = $source and fence = $token and state = 'leased'`,{now:e.nowMs,leaseMs:t,id:s,source:r,token:a})>0)}o(ze,"renew");function Ye(e,{mark:n,writes:t}){try{return be(e,()=>{if(!Gn(e,n))return{status:"rolled_back"};for(let[r,s]of t.entries())Xn(e,s,r);return{status:"committed"}})}catch(r){return X(r)}}o(Ye,"apply");function X(e){if(C(e)||e instanceof _)throw e;let{message:n,errcode:t}=e;return{status:"refused",message:n,errcode:t}}o(X,"refused");function Gn(e,n){if(n.by==="store")return Ve(e,n);let{key:t,token:r,rules:s}=n,[a=!1]=q(e,{settlements:[{...t,token:r,state:"done"}],rules:s});return a}o(Gn,"marked");function Xn(e,{sql:n,head:t,parameters:r,changes:s},a){let i=e.run(n,...r);if(!(s===void 0||i===s))throw new Error(`Write ${a+1} of the handler (${t}) changed ${i} rows instead of ${s}. Another program may have changed them since they were read: read them again in the next attempt.`)}o(Xn,"runWrite");function Ge(e,{sql:n,parameters:t}){try{return e.prepared(n).setReadBigInts(!0),{rows:e.all(n,...t).map(Zn)}}catch(r){if(C(r))throw r;let{message:s,errcode:a}=r;return{message:s,errcode:a}}}o(Ge,"read");function Zn(e){return Object.fromEntries(Object.entries(e).map(([n,t])=>[n,et(t)]))}o(Zn,"withNumbers");function et(e){return typeof e=="bigint"&&Number.isSafeInteger(Number(e))?Number(e):e}o(et,"numberOf");function $(e){let{state:n,types:t,source:r,ids:s,idPrefix:a,since:i,until:l,error:d,endedBy:u}=e,m=[...n===void 0?[]:[{sql:`state = '${n}'`,parameters:[]}],...Ze("type",t),...B("source =",r),...Ze("id",s),...a===void 0?[]:[{sql:"substr(id, 1, length(?)) = ?",parameters:[a,a]}],...B("received_at >=",i?.getTime()),...B("received_at <",l?.getTime()),...d===void 0?[]:[nt(d)],...B("ends_at <=",u?.getTime())];return{sql:["true",...m.map(({sql:f})=>f)].join(" and "),parameters:m.flatMap(({parameters:f})=>f)}}o($,"matching");var Xe=`
    at `;function nt(e){return{sql:"instr(substr(error, 1, instr(error || ?, ?) - 1), ?) > 0",parameters:[Xe,Xe,e]}}o(nt,"inMessage");function B(e,n){return n===void 0?[]:[{sql:`${e} ?`,parameters:[n]}]}o(B,"where");function Ze(e,n){return n===void 0?[]:[{sql:`${e} in (select value from json_each(?))`,parameters:[JSON.stringify(n)]}]}o(Ze,"anyOf");var nn=-9e18,en=`coalesce(received_at, ${nn})`;function tn(e,{filter:n,limit:t,after:r}){let{sql:s,parameters:a}=$(n),i=r===void 0?"":`and (${en}, source, id) < (?, ?, ?)`,l=e.all(`select ${on} from esim_webhooks_event where ${s} ${i}
    order by ${en} desc, source desc, id desc limit ?`,...a,...r===void 0?[]:[r.receivedAt??nn,r.source,r.id],t+1);return{rows:l.slice(0,t).map(sn),isLast:l.length<=t}}o(tn,"list");function rn(e,{source:n,id:t}){let r=e.get(`select ${on}, body from esim_webhooks_event where id = ? and source = ?`,t,n);if(r===void 0)return;let{body:s,...a}=r;return{...sn(a),body:s}}o(rn,"get");var on="source, id, state, type, lane, received_at, attempts, ends_at, error, conflicts, replay";function sn({received_at:e,ends_at:n,replay:t,...r}){return{...r,receivedAt:e===null?null:new Date(e),endsAt:n===null?null:new Date(n),replay:t===null?null:JSON.parse(t)}}o(sn,"inboxRow");function an(e,{name:n}){return e.get("select value, version from esim_webhooks_state where name = ?",n)}o(an,"readState");function ln(e,{name:n,value:t,version:r}){return(r===void 0?e.run(`insert into esim_webhooks_state (name, value, version) values (?, ?, ${b}) on conflict do nothing`,n,t):e.run(`update esim_webhooks_state set value = ?, version = ${b} where name = ? and version = ?`,t,n,r))>0}o(ln,"writeState");function dn(e,n){let t=e.all(`select state, type, count(*) as count, max(received_at) filter (where replay is null) as last
    from esim_webhooks_event group by state, type order by state, type`),r=t.map(({last:l,...d})=>d),s=t.reduce((l,d)=>Math.max(l,d.last??l),Number.NEGATIVE_INFINITY),a={ready:0,leased:0,done:0,unhandled:0,dead:0};for(let{state:l,count:d}of r)a[l]+=d;let i=e.get("select coalesce(sum(conflicts), 0) as sum from esim_webhooks_event where conflicts > 0");return{states:a,types:r,oldestReadyMs:tt(e),conflicts:i?.sum??0,lastReceivedAt:Number.isFinite(s)?new Date(s):null}}o(dn,"stats");function tt(e){let n=k(e),t=["lane is null","lane is not null"].flatMap(s=>{let a=e.get(`select ends_at from esim_webhooks_event where state = 'ready' and ${s} order by ends_at limit 1`);return a===void 0?[]:[a.ends_at]}),r=Math.min(...t);return r<=n?n-r:null}o(tt,"oldestReadyMs");function cn(e,{filter:n}){let{sql:t,parameters:r}=$(n);return e.get(`select count(*) as count from esim_webhooks_event where ${t}`,...r)?.count??0}o(cn,"count");function un(e,n){return e.all("select distinct source from esim_webhooks_event order by source").map(({source:t})=>t)}o(un,"sources");var re={};W(re,{apply:()=>Ye,claim:()=>Ne,complete:()=>Je,extend:()=>De,forget:()=>pn,probe:()=>T,purgeClock:()=>mn,purgeDead:()=>yn,put:()=>qe,redrive:()=>fn,release:()=>Qe,renew:()=>ze,rerun:()=>Be,settle:()=>q,take:()=>wn,writeState:()=>ln});function mn(e,n){let t=e.get("select seen_at as seenMs, held_until as heldUntilMs from esim_webhooks_purge_clock");return{nowMs:e.nowMs,kept:t}}o(mn,"purgeClock");function pn(e,{limit:n,next:t,kept:r}){if(e.run(`insert into esim_webhooks_purge_clock (one, seen_at, held_until) values (1, $seenMs, $heldUntilMs)
    on conflict do update set seen_at = excluded.seen_at, held_until = excluded.held_until where seen_at = $keptMs`,{...t,keptMs:r?.seenMs??null})===0)return;let a=e.run(`delete from esim_webhooks_event where rowid in (
      select rowid from esim_webhooks_event
      where state in ('done', 'unhandled') and ends_at <= $untilMs order by ends_at limit $limit
    )`,{untilMs:t.seenMs,limit:n});return a>0&&ee(e),a}o(pn,"forget");var rt=256;function ee(e){e.exec(`pragma incremental_vacuum(${rt})`)}o(ee,"shrink");function fn(e,n){let{sql:t,parameters:r}=hn(n);return e.run(`update esim_webhooks_event set state = 'ready', attempts = 0, ends_at = ?, term_ms = 0 where rowid in (${t})`,e.nowMs,...r)}o(fn,"redrive");function yn(e,n){let{sql:t,parameters:r}=hn(n),s=e.run(`delete from esim_webhooks_event where rowid in (${t})`,...r);return s>0&&ee(e),s}o(yn,"purgeDead");function hn({filter:e,limit:n}){let{sql:t,parameters:r}=$(e);return{sql:`select rowid from esim_webhooks_event where ${t} order by received_at limit ?`,parameters:[...r,n]}}o(hn,"chosen");function wn(e,n){ot(e);let t=(n.suspects?at(e,n):[...st(e,n),...it(e,n)]).sort((r,s)=>r.endsAt-s.endsAt).slice(0,n.limit);return dt(e,t.map(({rowid:r})=>r),n.leaseMs)}o(wn,"take");function ot(e){e.run(`update esim_webhooks_event
    set state = 'ready', ends_at = min(ends_at, $now), term_ms = 0, suspect = 1, error = coalesce(error, $leaseEnded)
    where state = 'leased' and body is not null and ${w}`,{now:e.nowMs,leaseEnded:O})}o(ot,"reap");var F=`($only is null or type in (select value from json_each($only)))
  and ($except is null or type is null or type not in (select value from json_each($except)))`;function te({nowMs:e},{limit:n,only:t,except:r}){let s=o(a=>a?JSON.stringify(a):null,"listOf");return{now:e,limit:n,only:s(t),except:s(r)}}o(te,"parametersOf");function st(e,n){return e.all(`select rowid, ends_at as endsAt from esim_webhooks_event
    where state = 'ready' and lane is null and ends_at <= $now and suspect = 0 and ${F}
    order by ends_at limit $limit`,te(e,n))}o(st,"dueOutOfLanes");function at(e,n){return e.all(`select rowid, ends_at as endsAt from esim_webhooks_event as event
    where state = 'ready' and suspect = 1 and ends_at <= $now and ${F}
      and (lane is null or ${ne("event",n.laneHeldByDead)})
    order by ends_at limit $limit`,te(e,n))}o(at,"dueSuspects");function ne(e,n){let t=o(r=>`(${r}.occurred_at, ${r}.source, ${r}.id) < (${e}.occurred_at, ${e}.source, ${e}.id)`,"before");return`not exists (
      select 1 from esim_webhooks_event as worked
      where worked.lane = ${e}.lane and worked.lane is not null and worked.state = 'leased'
    ) and not exists (
      select 1 from esim_webhooks_event as ahead
      where ahead.lane = ${e}.lane and ahead.lane is not null and ahead.state in ('ready', 'leased')
        and ${t("ahead")}
    )${n?` and not exists (
      select 1 from esim_webhooks_event as died
      where died.lane = ${e}.lane and died.lane is not null and died.state = 'dead' and ${t("died")}
    )`:""}`}o(ne,"isNextInLane");function it(e,n){let t=te(e,n),r=1e3+4*n.limit,s=e.all(`with near as materialized (
      select rowid, ends_at, lane, occurred_at, source, id, type, suspect from esim_webhooks_event
      where state = 'ready' and lane is not null and ends_at <= $now
      order by ends_at limit $reach
    )
    select rowid, ends_at as endsAt from near
    where suspect = 0 and ${F} and ${ne("near",n.laneHeldByDead)}
    order by ends_at limit $limit`,{...t,reach:r});return s.length===n.limit||lt(e,r)?s:e.all(`with recursive lane_name (lane) as (
      select min(lane) from esim_webhooks_event where lane is not null and state in ('ready', 'leased')
      union all
      select (
        select min(lane) from esim_webhooks_event
        where lane is not null and state in ('ready', 'leased') and lane > lane_name.lane
      ) from lane_name where lane_name.lane is not null
    ), head as materialized (
      select (
        select rowid from esim_webhooks_event
        where lane is not null and state in ('ready', 'leased') and lane = lane_name.lane
        order by occurred_at, source, id limit 1
      ) as first from lane_name where lane_name.lane is not null
    )
    select event.rowid, event.ends_at as endsAt from head
    join esim_webhooks_event as event on event.rowid = head.first
    where event.state = 'ready' and event.ends_at <= $now and suspect = 0 and ${F} and ${ne("event",n.laneHeldByDead)}
    order by event.ends_at limit $limit`,t)}o(it,"dueInLanes");function lt(e,n){return e.get(`select 1 from esim_webhooks_event
    where state = 'ready' and lane is not null and ends_at <= $now order by ends_at limit 1 offset $reach`,{now:e.nowMs,reach:n})===void 0}o(lt,"isAll");function dt(e,n,t){let r=e.all(`update esim_webhooks_event
    set state = 'leased', fence = ${b}, attempts = attempts + 1, ends_at = ?, term_ms = ?
    where rowid in (select value from json_each(?))
    returning rowid, source, id, fence as token, type, body, received_at as receivedAt, attempts as attempt,
      waiting_since as waitingSince, replay is not null as replayed`,e.nowMs+t,t,JSON.stringify(n)),s=new Map(r.map(a=>[a.rowid,a]));return n.map(a=>ct(e,s.get(a)))}o(dt,"lease");function ct({nowMs:e},{source:n,id:t,token:r,type:s,body:a,receivedAt:i,attempt:l,waitingSince:d,replayed:u}){return{source:n,id:t,token:r,type:s,body:a,receivedAt:new Date(i),attempt:l,waitedMs:d===null?0:e-d,replayed:u===1}}o(ct,"takenEvent");var mt=["put","claim"];function bn(e){let{path:n,connection:t,journal:r,files:s}=e,a=ft(),i=o(({untilMs:l})=>l-ue(),"leftMs");return o(function l(d){let u=Math.max(...d.map(i));if(u<=0)return d.map(()=>j);t.exec(`pragma busy_timeout = ${me(u)}`);try{s.check();let{nowMs:m,answers:f}=g(t,y=>(r.hasWalResetBug&&he(y,n,r),a.mayBeSetBack(y.nowMs)&&Ie(y),r.mode==="delete"&&d.some(({name:x})=>mt.includes(x))&&T(y),{nowMs:y.nowMs,answers:d.map(x=>i(x)<=0?j:{output:pt(y,x)})}));return s.check(),a.saw(m),f}catch(m){let f=m instanceof _?m.cause:m;return C(f)?d.map(()=>({fault:h(f,n)})):d.length>1?d.flatMap(y=>l([y])):[d[0]?.name==="apply"?{output:X(f)}:{fault:h(f,n)}]}},"together")}o(bn,"createWriteCalls");function pt(e,{name:n,input:t}){return re[n]?.(e,t)}o(pt,"done");function ft(){let e=Number.POSITIVE_INFINITY;return{mayBeSetBack:o(n=>n<e-1e3,"mayBeSetBack"),saw(n){e=n}}}o(ft,"createClock");var kn=yt,{role:_n,...oe}=ht,{path:se}=oe,wt=50;function S(e){kn.postMessage(e)}o(S,"reply");function bt(e,n){return n.map(({name:t,input:r})=>{try{return{output:Z[t]?.(e,r)}}catch(s){return{fault:h(s,se)}}})}o(bt,"readCalls");function _t(e){let n;return setInterval(()=>{try{let t=p(e,"data_version");t!==n&&S({kind:"changed"}),n=t}catch{}},wt)}o(_t,"watch");function gn(e,n){let t;kn.on("message",r=>{switch(r.kind){case"calls":return S({kind:"answers",id:r.id,answers:n(ce(r.packed))});case"watch":clearInterval(t),t=r.isOn?_t(e):void 0;return;case"close":clearInterval(t),e.close(),process.exit()}})}o(gn,"serve");try{if(_n==="writer"){let{journal:e,files:n,...t}=ve(oe);gn(t,bn({path:se,connection:t,journal:e,files:n})),S({kind:"opened",journal:e})}else{let e={reader:Q,source:$e,backup:K}[_n](oe);gn(e,n=>bt(e,n)),S({kind:"opened",journal:void 0})}}catch(e){S({kind:"fault",fault:h(e,se)})}
