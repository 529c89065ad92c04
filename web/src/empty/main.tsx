// An empty page of Mantine, with which the bench `first-load` compares the pages of the console. It is not in the
// build.
import '@mantine/core/styles.layer.css';
import { MantineProvider, Title } from '@mantine/core';
import { createRoot } from 'react-dom/client';

const root = document.getElementById('app');
if (root === null) throw new Error('empty.html has no element "app"');
createRoot(root).render(
  <MantineProvider>
    <Title>Empty</Title>
  </MantineProvider>,
);
