import { ActionIcon, Tooltip } from '@mantine/core';
import { ChevronRight } from 'lucide-react';

/** Opens the details of a row, for the keyboard too. */
export const ShowIcon = ({ label, onClick }: { readonly label: string; readonly onClick: () => void }) => (
  <Tooltip label={label}>
    <ActionIcon variant="subtle" color="gray" onClick={onClick} aria-label={label}>
      <ChevronRight size={16} />
    </ActionIcon>
  </Tooltip>
);
