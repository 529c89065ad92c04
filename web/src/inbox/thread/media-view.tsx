import { Anchor, Group, Text } from '@mantine/core';
import { CircleAlert, Download, FileText, Hourglass } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { sameOriginUrl } from '../../api/media.ts';
import { Bytes } from '../../ui/values/num.tsx';
import classes from '../inbox.module.css';
import type { Message } from './thread.ts';

type MediaOf = NonNullable<Message['media']>;
type MediaViewProps = { readonly media: MediaOf; readonly messageType: string };

/** The file of a message: images, videos and audio are shown, other files are downloaded. */
export function MediaView({ media, messageType }: MediaViewProps) {
  const { t } = useTranslation('inbox');
  const kind = t(`type.${messageType}`, { defaultValue: t('type.OTHER') });
  const name = media.fileName ?? kind;
  if (media.state !== 'STORED' || media.url === null)
    return <Missing isPending={media.state === 'PENDING'} name={name} />;
  const url = sameOriginUrl(media.url);
  const type = media.mimeType ?? '';
  if (type.startsWith('image/'))
    return (
      <a href={url} target="_blank" rel="noreferrer" className={classes.picture} aria-label={t('media.open', { name })}>
        <img src={media.thumbnailUrl === null ? url : sameOriginUrl(media.thumbnailUrl)} alt={name} loading="lazy" />
      </a>
    );
  // Videos that people send have no captions.
  if (type.startsWith('video/'))
    return <video controls preload="metadata" src={url} aria-label={name} className={classes.video} />;
  if (type.startsWith('audio/'))
    return <audio controls preload="none" src={url} aria-label={name} className={classes.audio} />;
  return <Document media={media} name={name} url={url} />;
}

function Document({ media, name, url }: { readonly media: MediaOf; readonly name: string; readonly url: string }) {
  const { t } = useTranslation('inbox');
  const type = media.mimeType?.split(';', 1)[0]?.split('/')[1]?.toUpperCase() ?? '';
  return (
    <Group gap="sm" wrap="nowrap" className={classes.document}>
      <FileText size={28} aria-hidden="true" />
      <div style={{ minWidth: 0 }}>
        <Anchor href={url} download={name} size="sm" fw={600} className="foreign-text">
          {name} <Download size={14} role="img" aria-label={t('media.download')} />
        </Anchor>
        <Text size="xs">
          {type} · <Bytes count={media.sizeBytes} />
        </Text>
      </div>
    </Group>
  );
}

function Missing({ isPending, name }: { readonly isPending: boolean; readonly name: string }) {
  const { t } = useTranslation('inbox');
  const Sign = isPending ? Hourglass : CircleAlert;
  return (
    <Group gap="xs" wrap="nowrap" className={classes.document}>
      <Sign size={20} aria-hidden="true" />
      <Text size="sm" className="foreign-text">
        {t(isPending ? 'media.pending' : 'media.failed', { name })}
      </Text>
    </Group>
  );
}
