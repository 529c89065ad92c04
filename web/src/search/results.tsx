import { useTranslation } from 'react-i18next';
import { type Entry, GROUPS } from './entry.ts';
import classes from './search.module.css';

type ResultsProps = {
  readonly id: string;
  /** In the order of their groups. */
  readonly entries: readonly Entry[];
  /** The index of the chosen one. */
  readonly at: number;
  readonly optionId: (index: number) => string;
  readonly onPoint: (entry: Entry) => void;
  readonly onOpen: (entry: Entry) => void;
};

/** The results by group. The focus stays in the field, so they take part in no tab order. */
export function Results({ id, entries, ...props }: ResultsProps) {
  const { t } = useTranslation('search');
  return (
    <div id={id} role="listbox" aria-label={t('results')} className={classes.list}>
      {GROUPS.filter((group) => entries.some((entry) => entry.group === group)).map((group) => (
        <div key={group} role="group" aria-labelledby={`${id}-${group}`}>
          <div id={`${id}-${group}`} className={classes.group}>
            {t(`group.${group}`)}
          </div>
          {entries.map((entry, index) =>
            entry.group === group ? <Option key={entry.id} entry={entry} index={index} {...props} /> : null,
          )}
        </div>
      ))}
    </div>
  );
}

type OptionProps = Omit<ResultsProps, 'id' | 'entries'> & { readonly entry: Entry; readonly index: number };

function Option({ entry, index, at, optionId, onPoint, onOpen }: OptionProps) {
  const { title, detail, icon: Icon } = entry;
  return (
    <div
      id={optionId(index)}
      role="option"
      aria-selected={index === at}
      tabIndex={-1}
      className={classes.option}
      onMouseMove={() => onPoint(entry)}
      onClick={() => onOpen(entry)}
    >
      <Icon size={18} aria-hidden="true" style={{ flexShrink: 0 }} />
      <bdi className={classes.title}>{title}</bdi>
      {detail !== undefined && <bdi className={classes.detail}>{detail}</bdi>}
    </div>
  );
}
