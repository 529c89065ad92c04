import { copyFile, mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreCode } from '../../private-file.ts';

/**
 * Copies a folder with its contents, readable only by its owner. Files that vanish meanwhile are omitted, and so are
 * paths below the folder for which `isLeftOut` returns true. When it resolves, the copy is on the disk. Throws if `to`
 * exists.
 */
export async function copyFolder(
  from: string,
  to: string,
  isLeftOut: (path: string) => boolean = () => false,
): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (isLeftOut(entry.name)) continue;
    if (entry.isDirectory()) await copyFolder(source, target, (path) => isLeftOut(join(entry.name, path)));
    else if (entry.isFile()) await copyDurably(source, target).catch(ignoreCode('ENOENT'));
  }
  await sync(to);
}

/** Copies one file; when it resolves, its content is on the disk. */
export async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await sync(to);
}

/** Flushes a file or a folder to the disk. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
