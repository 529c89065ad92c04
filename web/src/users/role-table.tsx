import { VisuallyHidden } from '@mantine/core';
import { Check, Minus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import classes from './role-table.module.css';
import { type Role, ROLES } from './user.ts';

/** The permissions of the roles, a summary of the table in src/core/actor.ts. */
const RIGHTS: readonly { readonly id: string; readonly roles: readonly Role[] }[] = [
  { id: 'read', roles: ROLES },
  { id: 'send', roles: ['sender', 'manager', 'admin'] },
  { id: 'write', roles: ['manager', 'admin'] },
  { id: 'money', roles: ['viewer', 'manager', 'admin'] },
  { id: 'keys', roles: ['admin'] },
];

/** The table of the roles and their permissions. */
export function RoleTable() {
  const { t } = useTranslation('users');
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={t('roles.title')}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{t('roles.right')}</th>
            {ROLES.map((role) => (
              <th key={role} scope="col">
                {t(`role.${role}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {RIGHTS.map(({ id, roles }) => (
            <tr key={id}>
              <th scope="row">{t(`right.${id}`)}</th>
              {ROLES.map((role) => (
                <td key={role}>
                  <Answer isYes={roles.includes(role)} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Answer({ isYes }: { readonly isYes: boolean }) {
  const { t } = useTranslation('users');
  const Sign = isYes ? Check : Minus;
  return (
    <>
      <Sign size={18} aria-hidden="true" className={isYes ? classes.yes : classes.no} />
      <VisuallyHidden>{t(isYes ? 'roles.yes' : 'roles.no')}</VisuallyHidden>
    </>
  );
}
