import { Text } from '@mantine/core';

type MessageTextProps = { readonly text: string; readonly lines?: number; readonly size?: string };

/**
 * Text from outside, rendered as a text node and nothing else. URLs stay plain text, the text has its own direction,
 * and it cannot widen the layout. `lines` limits the number of lines.
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
