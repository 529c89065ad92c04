import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ExternalLink, Link2Off, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { MEDIA, MEDIA_NEED, type Media, sameOriginUrl } from '../api/media.ts';
import { api, ok } from '../api/send.ts';
import { CopyButton, GuardedButton } from '../ui/actions.tsx';
import { confirm, questionTexts, SidePanel } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { MessageText } from '../ui/message.tsx';
import { ErrorState, Muted, TableSkeleton, useLast } from '../ui/parts.tsx';
import { Bytes, ChannelBadge, DateTime, Duration, Facts } from '../ui/values.tsx';
import classes from './media.module.css';

type DetailPanelProps = { readonly id: number; readonly onClose: () => void };

/** Side panel with the details of one file; 0 closes it. */
export function DetailPanel({ id, onClose }: DetailPanelProps) {
  const { t } = useTranslation('media');
  const shown = useLast(id === 0 ? null : id) ?? 0;
  const file = useQuery({
    queryKey: ['media-file', shown],
    queryFn: ({ signal }) => findMedia(shown, signal),
    enabled: id !== 0,
  });
  return (
    <SidePanel opened={id !== 0} onClose={onClose} title={file.data?.name ?? t('detail')}>
      {file.isError ? (
        <ErrorState error={file.error} onRetry={() => void file.refetch()} />
      ) : file.data ? (
        <Detail media={file.data} onDeleted={onClose} />
      ) : (
        <TableSkeleton rows={4} />
      )}
    </SidePanel>
  );
}

function Detail({ media, onDeleted }: { readonly media: Media; readonly onDeleted: () => void }) {
  const { t } = useTranslation('media');
  const { id, name } = media;
  const revoke = (): void =>
    confirm({
      ...questionTexts(t, 'revoke', { name }),
      run: () => ok(api.POST(`${MEDIA}/{id}/revoke-links`, { params: { path: { id } } })),
      refresh: [['media'], ['media-file']],
    });
  const remove = (): void =>
    confirm({
      ...questionTexts(t, 'delete', { name }),
      run: () => ok(api.DELETE(`${MEDIA}/{id}`, { params: { path: { id } } })),
      refresh: [['media']],
      onDone: onDeleted,
    });
  return (
    <Stack>
      <Preview media={media} />
      {media.description !== '' && <MessageText text={media.description} />}
      <FileFacts media={media} />
      <Uses media={media} />
      <Title order={3} size="h5">
        {t('link.title')}
      </Title>
      <Muted>{t('link.text')}</Muted>
      <Group gap="xs">
        <CopyButton text={media.url} label={t('link.copy')} />
        <Button
          component="a"
          href={sameOriginUrl(media.url)}
          target="_blank"
          rel="noreferrer"
          variant="default"
          size="xs"
          leftSection={<ExternalLink size={14} />}
        >
          {t('link.open')}
        </Button>
        <GuardedButton
          need={MEDIA_NEED}
          variant="default"
          size="xs"
          leftSection={<Link2Off size={14} />}
          onClick={revoke}
        >
          {t('revoke.open')}
        </GuardedButton>
      </Group>
      <Group justify="flex-end" mt="md">
        <GuardedButton
          need={MEDIA_NEED}
          variant="light"
          color="red"
          leftSection={<Trash2 size={16} />}
          onClick={remove}
        >
          {t('delete.open')}
        </GuardedButton>
      </Group>
    </Stack>
  );
}

function Preview({ media }: { readonly media: Media }) {
  return (
    <div className={classes.preview}>
      {isVideo(media) ? (
        // Uploaded videos have no captions; the description is below.
        <video controls preload="metadata" src={sameOriginUrl(media.url)} aria-label={media.name} />
      ) : (
        <img
          src={sameOriginUrl(media.url)}
          width={media.width}
          height={media.height}
          alt={media.description || media.name}
          style={{ height: 'auto' }}
        />
      )}
    </div>
  );
}

function FileFacts({ media }: { readonly media: Media }) {
  const { t } = useTranslation('media');
  const { number } = useFormat();
  const size = t('fact.pixels', { width: number(media.width), height: number(media.height) });
  return (
    <Facts
      facts={[
        { label: t('fact.type'), value: typeName(media.mimeType) },
        { label: t('fact.dimensions'), value: size },
        ...(media.durationSeconds === null
          ? []
          : [{ label: t('fact.duration'), value: <Duration seconds={media.durationSeconds} /> }]),
        { label: t('fact.size'), value: <Bytes count={media.sizeBytes} /> },
        { label: t('fact.uploaded'), value: <DateTime value={media.createdAt} /> },
        { label: t('fact.id'), value: <CopyableId id={media.id} /> },
      ]}
    />
  );
}

const CopyableId = ({ id }: { readonly id: number }) => (
  <Group gap="xs">
    <span className="tabular">{id}</span>
    <CopyButton text={String(id)} />
  </Group>
);

function Uses({ media }: { readonly media: Media }) {
  const { t } = useTranslation('media');
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        {t('use.title')}
      </Title>
      <ul className={classes.uses}>
        {usesOf(media).map(({ channel, usable, why }) => (
          <li key={channel}>
            <ChannelBadge channel={channel} />
            <Text size="sm" c={usable ? undefined : 'dimmed'}>
              {t(why)}
            </Text>
          </li>
        ))}
      </ul>
    </Stack>
  );
}

export type { Media } from '../api/media.ts';

const isVideo = ({ mimeType }: Pick<Media, 'mimeType'>): boolean => mimeType.startsWith('video/');

/** The common name of a file type: JPEG, PNG, GIF, MP4. */
export const typeName = (mimeType: string): string => (mimeType.split('/')[1] ?? mimeType).toUpperCase();

const findMedia = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${MEDIA}/{id}`, { params: { path: { id } }, signal }));

type Use = { readonly channel: 'WHATSAPP' | 'RCS' | 'SMS'; readonly usable: boolean; readonly why: string };

/**
 * The channels on which a file can be sent, as supported by the networks (4, and rcs, 2). A text key explains how, or
 * why not.
 */
const usesOf = ({ mimeType }: Pick<Media, 'mimeType'>): readonly Use[] => [
  mimeType === 'image/gif'
    ? { channel: 'WHATSAPP', usable: false, why: 'use.noGif' }
    : { channel: 'WHATSAPP', usable: true, why: isVideo({ mimeType }) ? 'use.video' : 'use.image' },
  { channel: 'RCS', usable: true, why: 'use.card' },
  { channel: 'SMS', usable: false, why: 'use.linkOnly' },
];
