import { TextLink } from '../../ui/link.tsx';
import { useAuditText } from './audit-text.ts';

/** The pages of the kinds of subjects that have one. */
const PATHS: Readonly<Record<string, string>> = {
  campaign: '/campaigns',
  message: '/messages',
  'contact-list': '/lists',
};

/** Subject of an entry: the kind, the ID, and a link if it has a page. */
export function Subject({ subject }: { readonly subject: string }) {
  const words = useAuditText();
  const at = subject.indexOf(':');
  const [kind, id] = at < 0 ? [subject, ''] : [subject.slice(0, at), subject.slice(at + 1)];
  const name = id === '' ? words.subject(kind) : `${words.subject(kind)} ${/^\d+$/.test(id) ? `#${id}` : id}`;
  const path = PATHS[kind];
  if (path === undefined || !/^[\w-]+$/.test(id)) return <bdi>{name}</bdi>;
  return (
    <TextLink to={`${path}/${id}`}>
      <bdi>{name}</bdi>
    </TextLink>
  );
}
