import { Tooltip } from '@mantine/core';
import type { RefObject } from 'react';

type FaultNoteProps = { readonly label: string; readonly target: RefObject<HTMLElement | null> };

/** The error below a cell, which moves with the table. Loaded by `EditCell` on demand. */
export const FaultNote = (props: FaultNoteProps) => <Tooltip {...props} opened color="red" position="bottom-start" />;
