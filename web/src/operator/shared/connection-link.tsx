import { TextLink } from '../../ui/link.tsx';

/** A connection by name, which leads to it; `–` where there is none. */
export const ConnectionLink = ({ name }: { readonly name: string | null }) =>
  name === null ? <span>–</span> : <TextLink to={`/operator/connections/${encodeURIComponent(name)}`}>{name}</TextLink>;
