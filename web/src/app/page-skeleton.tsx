import { Skeleton, Stack } from '@mantine/core';

/** What stands in a page's place while its files or its data are on their way. */
export function PageSkeleton() {
  return (
    <Stack gap="lg" aria-hidden="true">
      <Skeleton h={32} w={240} />
      <Skeleton h={48} />
      <Skeleton h={280} />
    </Stack>
  );
}
