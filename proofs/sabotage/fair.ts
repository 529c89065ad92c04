import { EXPRESS } from '../../src/serve.ts';

// No single send goes past the queue.
EXPRESS.put((express) => ({ ...express, open: () => () => undefined }));
