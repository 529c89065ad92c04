import { Button, FileButton, Group, Stack, Text } from '@mantine/core';
import { CircleAlert, CircleCheck, Film, ImageOff, ImageUp } from 'lucide-react';
import { type DragEvent, useEffect, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { ACCEPTED, MEDIA_NEED, type Media, sameOriginUrl, uploadMedia } from '../api/media.ts';
import { useProblemText } from '../api/passkey.ts';
import { GuardedButton, useDisabledReason } from './actions.tsx';
import classes from './drop-area.module.css';
import classesThumbnail from './thumbnail.module.css';
import { Bytes, JobProgress } from './values.tsx';

/** One upload. `error` is the rejection of the request. */
type UploadRow = {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly sent: number;
  readonly state: 'waiting' | 'running' | 'done' | 'failed';
  readonly error?: unknown;
};

/** Maximum concurrent uploads; the others wait. The server limits concurrent uploads per account. */
const MAX_CONCURRENT = 2;

/**
 * Uploads files, a few at a time, and reports the progress of each. Running uploads are aborted when the component
 * unmounts.
 */
export function useUploads(onUploaded: (media: Media) => void) {
  const [uploads] = useState(createUploads);
  const rows = useSyncExternalStore(uploads.listen, uploads.rows);
  useEffect(() => uploads.end, [uploads]);
  return {
    rows,
    add: (files: readonly File[]): void => uploads.add(files, onUploaded),
    /** Removes finished uploads from the list. */
    clear: uploads.clear,
    busy: rows.some(isActive),
  };
}

type Job = { readonly id: number; readonly file: File; readonly onUploaded: (media: Media) => void };

function createUploads() {
  let rows: readonly UploadRow[] = [];
  let nextId = 1;
  let waiting: readonly Job[] = [];
  const running = new Map<number, AbortController>();
  const listeners = new Set<() => void>();
  const show = (next: readonly UploadRow[]): void => {
    rows = next;
    for (const listener of listeners) listener();
  };
  const change = (id: number, patch: Partial<UploadRow>): void =>
    show(rows.map((row) => (row.id === id ? { ...row, ...patch } : row)));

  async function send({ id, file, onUploaded }: Job, signal: AbortSignal): Promise<void> {
    change(id, { state: 'running' });
    try {
      const media = await uploadMedia(file, { signal, onProgress: (sent) => change(id, { sent }) });
      change(id, { state: 'done', sent: file.size });
      onUploaded(media);
    } catch (error) {
      change(id, { state: 'failed', error });
    }
    running.delete(id);
    pump();
  }

  function pump(): void {
    const [next, ...later] = waiting;
    if (!next || running.size >= MAX_CONCURRENT) return;
    waiting = later;
    const controller = new AbortController();
    running.set(next.id, controller);
    void send(next, controller.signal);
    pump();
  }

  return {
    rows: (): readonly UploadRow[] => rows,
    listen(tell: () => void): () => void {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    add(files: readonly File[], onUploaded: Job['onUploaded']): void {
      const jobs = files.map((file) => ({ id: nextId++, file, onUploaded }));
      waiting = [...waiting, ...jobs];
      show([...rows, ...jobs.map(rowOf)]);
      pump();
    },
    clear: (): void => show(rows.filter(isActive)),
    end(): void {
      waiting = [];
      for (const controller of running.values()) controller.abort();
    },
  };
}

const rowOf = ({ id, file: { name, size } }: Job): UploadRow => ({ id, name, size, sent: 0, state: 'waiting' });
const isActive = ({ state }: UploadRow): boolean => state === 'waiting' || state === 'running';

/** The uploads with their progress or result, by file name. */
export function UploadList({ rows }: { readonly rows: readonly UploadRow[] }) {
  const { t } = useTranslation('ui');
  if (rows.length === 0) return null;
  return (
    <Stack component="ul" gap="sm" m={0} p={0} aria-label={t('upload.list')} style={{ listStyle: 'none' }}>
      {rows.map((row) => (
        <li key={row.id}>
          <Upload row={row} />
        </li>
      ))}
    </Stack>
  );
}

function Upload({ row }: { readonly row: UploadRow }) {
  const { t } = useTranslation('ui');
  const problemText = useProblemText();
  const { name, size, sent, state } = row;
  if (state === 'running' || state === 'waiting')
    return (
      <Stack gap={4}>
        <Name row={row} />
        <JobProgress
          label={t(sent < size || size === 0 ? 'upload.running' : 'upload.checking', { name })}
          done={sent}
          total={Math.max(size, 1)}
          compact
        />
      </Stack>
    );
  const failed = state === 'failed';
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start" role={failed ? 'alert' : 'status'}>
      {failed ? (
        <CircleAlert size={18} color="var(--mantine-color-error)" aria-hidden="true" style={{ flexShrink: 0 }} />
      ) : (
        <CircleCheck size={18} color="var(--mantine-color-green-text)" aria-hidden="true" style={{ flexShrink: 0 }} />
      )}
      <Stack gap={0} style={{ minWidth: 0 }}>
        <Name row={row} />
        <Text size="xs" c={failed ? 'var(--mantine-color-error)' : 'dimmed'} style={{ overflowWrap: 'anywhere' }}>
          {failed ? t('upload.failed', { reason: problemText(row.error) }) : t('upload.done')}
        </Text>
      </Stack>
    </Group>
  );
}

const Name = ({ row: { name, size } }: { readonly row: UploadRow }) => (
  <Group gap="xs" wrap="nowrap">
    <Text size="sm" fw={500} truncate dir="auto">
      {name}
    </Text>
    <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
      <Bytes count={size} />
    </Text>
  </Group>
);

type DropAreaProps = { readonly onFiles: (files: readonly File[]) => void };

/** An area to drop or choose images and videos. Users who may not upload see the reason. */
export function DropArea({ onFiles }: DropAreaProps) {
  const { t } = useTranslation('ui');
  const reason = useDisabledReason(MEDIA_NEED);
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    if (reason === undefined) onFiles([...event.dataTransfer.files]);
  };
  return (
    <Group
      className={classes.area}
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <ImageUp size={24} aria-hidden="true" />
      <Stack gap={0} style={{ flex: '1 1 220px' }}>
        <Text size="sm" fw={500}>
          {t('upload.drop')}
        </Text>
        <Text size="xs" c="dimmed">
          {t('upload.limits')}
        </Text>
      </Stack>
      {reason === undefined ? (
        <FileButton multiple accept={ACCEPTED} onChange={(files) => onFiles(files)}>
          {(props) => (
            <Button variant="default" {...props}>
              {t('upload.choose')}
            </Button>
          )}
        </FileButton>
      ) : (
        <GuardedButton need={MEDIA_NEED} variant="default">
          {t('upload.choose')}
        </GuardedButton>
      )}
    </Group>
  );
}

type ThumbnailProps = { readonly media: Pick<Media, 'name' | 'mimeType' | 'thumbnailUrl'> };

/** The thumbnail of an image, or an icon for a video. It is decorative, because the name is next to it. */
export function Thumbnail({ media: { mimeType, thumbnailUrl } }: ThumbnailProps) {
  const [isGone, setGone] = useState(false);
  const Sign = mimeType.startsWith('video/') ? Film : ImageOff;
  return (
    <div className={classesThumbnail.frame}>
      {thumbnailUrl !== null && !isGone ? (
        <img src={sameOriginUrl(thumbnailUrl)} alt="" loading="lazy" onError={() => setGone(true)} />
      ) : (
        <Sign size={32} aria-hidden="true" />
      )}
    </div>
  );
}
