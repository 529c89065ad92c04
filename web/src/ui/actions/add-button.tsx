import { Plus } from 'lucide-react';
import type { ComponentProps } from 'react';
import { MayButton } from './may-button.tsx';

/** Begins something new: above a list, and in its place while it is empty. */
export const AddButton = (props: ComponentProps<typeof MayButton>) => (
  <MayButton leftSection={<Plus size={16} />} {...props} />
);
