import type { Settings } from './env-file.ts';

/** The settings that a step wants in the file, those that are there already included, and what to say about it. */
export type Wanted = { readonly step: string; readonly settings: Settings; readonly detail: string };

/** What a step of `setup` did, in a sentence for people; `changed` is false where everything was there already. */
export type Done = { readonly step: string; readonly changed: boolean; readonly detail: string };
