import { Box, Skeleton, Stack } from '@mantine/core';

/** Placeholder while a page's code or data is loading. */
export function PageSkeleton() {
  return (
    <Stack gap="lg" aria-hidden="true">
      <Skeleton h={32} w={240} />
      <Skeleton h={48} />
      <Skeleton h={280} />
    </Stack>
  );
}

/** The same before the shell is there, which gives pages their margins. */
export const BareSkeleton = () => (
  <Box p="xl">
    <PageSkeleton />
  </Box>
);
