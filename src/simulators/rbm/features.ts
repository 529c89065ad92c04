import { getList, getMember, getText } from '../../carriers/json.ts';
import type { Feature } from './script.ts';

const ACTIONS: readonly (readonly [string, Feature])[] = [
  ['dialAction', 'ACTION_DIAL'],
  ['viewLocationAction', 'ACTION_VIEW_LOCATION'],
  ['shareLocationAction', 'ACTION_SHARE_LOCATION'],
  ['createCalendarEventAction', 'ACTION_CREATE_CALENDAR_EVENT'],
];

/** Returns the features that a handset needs for a valid message (RBM API, agentMessages and capabilities). */
export function featuresOf(message: unknown): Set<Feature> {
  const needed = new Set<Feature>();
  const content = getMember(message, 'contentMessage');
  addActions(content, needed);
  const card = getMember(content, 'richCard');
  if (card === undefined) return needed;
  const standalone = getMember(card, 'standaloneCard');
  needed.add(standalone === undefined ? 'RICHCARD_CAROUSEL' : 'RICHCARD_STANDALONE');
  const cards =
    standalone === undefined
      ? getList(getMember(card, 'carouselCard'), 'cardContents')
      : [getMember(standalone, 'cardContent')];
  for (const each of cards) {
    addActions(each, needed);
    if (holdsPdf(each)) needed.add('PDF_IN_RICH_CARDS');
  }
  return needed;
}

function addActions(owner: unknown, needed: Set<Feature>): void {
  for (const suggestion of getList(owner, 'suggestions')) {
    const action = getMember(suggestion, 'action');
    for (const [name, feature] of ACTIONS) if (getMember(action, name) !== undefined) needed.add(feature);
    const openUrl = getMember(action, 'openUrlAction');
    if (openUrl === undefined) continue;
    needed.add('ACTION_OPEN_URL');
    if (getText(openUrl, 'application') === 'WEBVIEW') needed.add('ACTION_OPEN_URL_IN_WEBVIEW');
  }
}

const holdsPdf = (card: unknown): boolean =>
  /\.pdf($|\?)/i.test(getText(getMember(getMember(card, 'media'), 'contentInfo'), 'fileUrl'));

/** Returns the names of the uploaded files that a message refers to. */
export function uploadsOf(message: unknown): string[] {
  const names: string[] = [];
  const text = JSON.stringify(message);
  if (!text.includes('uploadedRbmFile')) return names;
  for (const [, name] of text.matchAll(/"(?:fileName|thumbnailName)":"(files\/[\w-]+)"/g)) if (name) names.push(name);
  return names;
}
