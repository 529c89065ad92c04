import { Hint } from '../hint.tsx';
import { useFormat } from './format.ts';
import { useNow } from './use-now.ts';

type DateTimeProps = {
  /** The time in ISO 8601; null and undefined show `–`. */
  readonly value: string | null | undefined;
  /** `relative` (default): "3 minutes ago", the exact time in a tooltip; `exact`: date and time; `day`: the date. */
  readonly show?: 'relative' | 'exact' | 'day';
};

/** A point in time, in the user's time zone. */
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

/** Times slightly after the last tick of the clock are shown as now rather than as in the future. */
function Relative({ instant }: { readonly instant: Date }) {
  const now = useNow(TICK_MS);
  const ahead = instant.getTime() - now.getTime();
  return useFormat().relative(instant, ahead > 0 && ahead < TICK_MS ? instant : now);
}

/** A duration in its two largest units. */
export function Duration({ seconds }: { readonly seconds: number | null | undefined }) {
  const format = useFormat();
  return <span className="tabular">{seconds === null || seconds === undefined ? '–' : format.duration(seconds)}</span>;
}

/** The time until `to`, counted down every second, then `ended`. */
export function Countdown({ to, ended }: { readonly to: string; readonly ended: string }) {
  const now = useNow(1000);
  const format = useFormat();
  const seconds = (new Date(to).getTime() - now.getTime()) / 1000;
  return <span className="tabular">{seconds <= 0 ? ended : format.duration(seconds)}</span>;
}
