/**
 * Calling codes, each with the mobile country codes whose networks have its numbers (ITU-T E.212 and E.164). Codes of
 * no country, such as 901, are missing.
 */
const MOBILE_COUNTRIES = `
  1:302,310,311,312,313,314,315,316,330,332,338,342,344,346,348,350,352,354,356,358,360,362,364,365,366,370,374,376,534,535,544
  20:602 211:659 212:604 213:603 216:605 218:606 220:607 221:608 222:609 223:610 224:611 225:612 226:613 227:614
  228:615 229:616 230:617 231:618 232:619 233:620 234:621 235:622 236:623 237:624 238:625 239:626 240:627 241:628
  242:629 243:630 244:631 245:632 246:995 247:658 248:633 249:634 250:635 251:636 252:637 253:638 254:639 255:640
  256:641 257:642 258:643 260:645 261:646 262:647 263:648 264:649 265:650 266:651 267:652 268:653 269:654 27:655
  290:658 291:657 297:363 298:288 299:290 30:202 31:204 32:206 33:208 34:214 350:266 351:268 352:270 353:272
  354:274 355:276 356:278 357:280 358:244 359:284 36:216 370:246 371:247 372:248 373:259 374:283 375:257 376:213
  377:212 378:292 379:225 380:255 381:220 382:297 383:221 385:219 386:293 387:218 389:294 39:222,225,292 40:226
  41:228 420:230 421:231 423:295 43:232 44:234,235 45:238 46:240 47:242 48:260 49:262 500:750 501:702 502:704
  503:706 504:708 505:710 506:712 507:714 508:308 509:372 51:716 52:334 53:368 54:722 55:724 56:730 57:732 58:734
  590:340 591:736 592:738 593:740 594:340,742 595:744 596:340 597:746 598:748 599:362 60:502 61:505 62:510 63:515
  64:530 65:525 66:520 670:514 672:505 673:528 674:536 675:537 676:539 677:540 678:541 679:542 680:552 681:543
  682:548 683:555 685:549 686:545 687:546 688:553 689:547 690:554 691:550 692:551 7:250,289,401 81:440,441 82:450
  84:452 850:467 852:454 853:455 855:456 856:457 86:460,461 880:470 886:466 90:286 91:404,405,406 92:410 93:412
  94:413 95:414 960:472 961:415 962:416 963:417 964:418 965:419 966:420 967:421 968:422 970:425 971:424,430,431
  972:425 973:426 974:427 975:402 976:428 977:429 98:432 992:436 993:438 994:400 995:282,289 996:437 997:401
  998:434
`;

const CALLING_CODES: ReadonlyMap<string, readonly string[]> = byMobileCountry();

function byMobileCountry(): ReadonlyMap<string, readonly string[]> {
  const pairs = MOBILE_COUNTRIES.trim()
    .split(/\s+/)
    .flatMap((entry) => {
      const [callingCode = '', codes = ''] = entry.split(':');
      return codes.split(',').map((code) => ({ code, callingCode }));
    });
  const grouped = Map.groupBy(pairs, ({ code }) => code);
  return new Map([...grouped].map(([code, own]) => [code, own.map(({ callingCode }) => callingCode)]));
}

/**
 * Returns true if the numbers with a calling code can be in a network (MCC and MNC, such as 22201): numbers move
 * between the networks of a country, and not out of it. True if the country of the network is not known.
 */
export const mayBeIn = (network: string, callingCode: string | null): boolean =>
  CALLING_CODES.get(network.slice(0, 3))?.includes(callingCode ?? '') ?? true;

/**
 * Returns the prefixes of the numbers with this prefix that can be in a network: the prefix itself, or the calling
 * codes of the network's country if they are longer. If none fits, the prefix as it is.
 */
export function prefixesIn(network: string, prefix: string): readonly string[] {
  const codes = CALLING_CODES.get(network.slice(0, 3)) ?? [];
  const fitting = codes.flatMap((code) => (code.startsWith(prefix) ? [code] : prefix.startsWith(code) ? [prefix] : []));
  return fitting.length > 0 ? fitting : [prefix];
}
