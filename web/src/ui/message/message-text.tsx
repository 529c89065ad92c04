import { Text } from '@mantine/core';

type MessageTextProps = { readonly text: string; readonly lines?: number; readonly size?: string };

/**
 * What people from outside wrote: a text node and nothing else. Addresses in it stay texts, its direction is its own,
 * and it widens nothing. `lines` cuts it.
 */
export const MessageText = ({ text, lines, size = 'sm' }: MessageTextProps) => (
  <Text
    component="span"
    size={size}
    className="foreign-text"
    dir="auto"
    display="block"
    {...(lines && { lineClamp: lines })}
  >
    {text}
  </Text>
);
