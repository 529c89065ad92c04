import { TextLink } from '../../ui/link.tsx';

/** An account by name, which leads to it. */
export const AccountLink = ({ id, name }: { readonly id: number; readonly name: string }) => (
  <TextLink to={`/operator/accounts/${id}`}>
    <bdi>{name}</bdi>
  </TextLink>
);
