import { TextLink } from '../../ui/link.tsx';

/** A link to a connection, by name; `–` if there is none. */
export const ConnectionLink = ({ name }: { readonly name: string | null }) =>
  name === null ? <span>–</span> : <TextLink to={`/operator/connections/${encodeURIComponent(name)}`}>{name}</TextLink>;
