import type { Platform } from '../../../platform/lib/social-platform.ts';
import { facebook } from './facebook.ts';
import { google } from './google.ts';
import { instagram } from './instagram.ts';
import { linkedin } from './linkedin.ts';
import type { Network } from './network.ts';
import { tiktok } from './tiktok.ts';

/** The networks whose profiles can be connected. */
export const NETWORKS: Readonly<Record<Platform, Network>> = { facebook, instagram, linkedin, google, tiktok };
