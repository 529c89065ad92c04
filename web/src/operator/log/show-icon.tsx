import { ActionIcon } from '@mantine/core';
import { ChevronRight } from 'lucide-react';
import { Hint } from '../../ui/hint.tsx';

/** Opens the details of a row, for the keyboard too. */
export const ShowIcon = ({ label, onClick }: { readonly label: string; readonly onClick: () => void }) => (
  <Hint label={label}>
    <ActionIcon variant="subtle" color="gray" onClick={onClick} aria-label={label}>
      <ChevronRight size={16} />
    </ActionIcon>
  </Hint>
);
