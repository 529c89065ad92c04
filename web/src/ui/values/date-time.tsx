import { Hint } from '../hint.tsx';
import { useFormat } from './format.ts';
import { useNow } from './use-now.ts';

type DateTimeProps = {
  /** ISO 8601; null and undefined show `–`. */
  readonly value: string | null | undefined;
  /** `relative` (default): "3 minutes ago", the exact time in a tooltip; `exact`: date and time; `day`: the date. */
  readonly show?: 'relative' | 'exact' | 'day';
};

/** A point in time, in the reader's zone. */
export function DateTime({ value, show = 'relative' }: DateTimeProps) {
  const format = useFormat();
  if (value === null || value === undefined) return <span>–</span>;
  const instant = new Date(value);
  const exact = format.exact(instant);
  if (show !== 'relative')
    return <time dateTime={value}>{show === 'day' ? format.day(instant) : format.brief(instant)}</time>;
  return (
    <Hint label={exact}>
      <time dateTime={value} style={{ whiteSpace: 'nowrap' }}>
        <Relative instant={instant} />
      </time>
    </Hint>
  );
}

const TICK_MS = 10_000;

/** What has arrived since the clock was last looked at would read as a moment to come. */
function Relative({ instant }: { readonly instant: Date }) {
  const now = useNow(TICK_MS);
  const ahead = instant.getTime() - now.getTime();
  return useFormat().relative(instant, ahead > 0 && ahead < TICK_MS ? instant : now);
}

/** How long something takes or lasts, in its two largest units. */
export function Duration({ seconds }: { readonly seconds: number | null | undefined }) {
  const format = useFormat();
  return <span className="tabular">{seconds === null || seconds === undefined ? '–' : format.duration(seconds)}</span>;
}

/** The time until `to`, counted down each second; `ended` when it has come. */
export function Countdown({ to, ended }: { readonly to: string; readonly ended: string }) {
  const now = useNow(1000);
  const format = useFormat();
  const seconds = (new Date(to).getTime() - now.getTime()) / 1000;
  return <span className="tabular">{seconds <= 0 ? ended : format.duration(seconds)}</span>;
}
