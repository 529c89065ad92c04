/** The social networks of contract 11, as written in paths. */
export const PLATFORMS = ['facebook', 'instagram', 'linkedin', 'google', 'tiktok'] as const;
export type Platform = (typeof PLATFORMS)[number];

export const isPlatform = (name: string): name is Platform => PLATFORMS.some((platform) => platform === name);
