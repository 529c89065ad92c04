import { Type } from 'typebox';
import { LimitsOut } from '../../contacts/schema.ts';
import { ROLES } from '../../lib/scope.ts';
import { PLANS } from '../../subscription/plans.ts';
import { pageFields } from '../page-fields.ts';
import { amount, ChannelName, instant, orNull, search } from '../fields.ts';
import { SORTS } from './sql.ts';
