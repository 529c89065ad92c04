// Writes docs/configuration.md from src/platform/setting-table.ts; --check fails if the file is out of date.
import { checkOrWrite } from './generated-file.ts';
import { configurationMarkdown } from '../src/platform/config.ts';

await checkOrWrite(new URL('../docs/configuration.md', import.meta.url), configurationMarkdown());
