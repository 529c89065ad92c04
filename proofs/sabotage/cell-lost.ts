import { CELLS } from '../../src/base.ts';

// So that nobody is sent to the wrong cell.
CELLS.put((cells) => ({
  ...cells,
  async find(caller) {
    const answer = await cells.find(caller);
    return cells.silent().length > 0 ? 'unsure' : answer;
  },
}));
