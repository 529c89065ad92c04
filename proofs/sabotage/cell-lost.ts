import { CELLS } from '../../src/base.ts';

// Otherwise a caller would reach the wrong cell.
CELLS.put((cells) => ({
  ...cells,
  async find(caller) {
    const answer = await cells.find(caller);
    return cells.silent().length > 0 ? 'unsure' : answer;
  },
}));
