import packageJson from '../../../package.json' with { type: 'json' };

/**
 * The `User-Agent` of every request that this program sends: to carriers, to the receivers of webhooks, to social
 * networks and to providers of single sign-on. Some networks respond to requests without one with an error page:
 * WhatsApp's reference for downloads of media lists the header
 * (developers.facebook.com/docs/whatsapp/cloud-api/reference/media#download-media).
 */
export const USER_AGENT = `Heliograph/${packageJson.version}`;
