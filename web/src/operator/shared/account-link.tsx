import { TextLink } from '../../ui/link.tsx';

/** A link to an account, by name. */
export const AccountLink = ({ id, name }: { readonly id: number; readonly name: string }) => (
  <TextLink to={`/operator/accounts/${id}`}>
    <bdi>{name}</bdi>
  </TextLink>
);
