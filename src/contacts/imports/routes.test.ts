import { writeXlsx } from 'hucre/xlsx';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAccount, type NewAccount } from '../../accounts/create.ts';
import { ageOf } from '../../testing/age.ts';
import { makeXlsx } from '../../testing/archive.ts';
import type { Client } from '../../testing/client.ts';
import { type Uploaded, uploadForm } from '../../testing/form.ts';
import { startTestProgram, type TestProgram } from '../../testing/program.ts';
import { until } from '../../testing/until.ts';
import { moveDefaultCountry, moveLimits } from '../book/sql.ts';

const PG = '/api/partner-gateway/v1';
