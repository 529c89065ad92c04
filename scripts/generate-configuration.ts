// Writes docs/configuration.md from src/core/settings.ts; --check fails if the file is out of date.
import { configurationMarkdown } from '../src/core/config.ts';
import { checkOrWrite } from './generated-file.ts';

await checkOrWrite(new URL('../docs/configuration.md', import.meta.url), configurationMarkdown());
