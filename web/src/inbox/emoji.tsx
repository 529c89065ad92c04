import { ActionIcon, Popover } from '@mantine/core';
import { Smile } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './inbox.module.css';

/** Emoji common in replies to customers; all others are typed with the keyboard of the system. */
const EMOJI = (
  '🙂 😊 😀 😃 😉 😍 🤩 😅 😂 🤔 😐 😕 😢 😮 🙏 👍 👎 👌 👏 💪 🤝 👋 ✅ ❌ ' +
  '⚠️ ℹ️ ❓ ❗ ⏰ 📅 📦 🚚 📍 📞 📧 💬 🔔 🔗 📎 📷 🎁 🎉 ⭐ 🔥 ❤️ 💙 💚 🌞'
).split(' ');

/** A button with the emoji that can be inserted. */
export function Emoji({ onChoose }: { readonly onChoose: (emoji: string) => void }) {
  const { t } = useTranslation('inbox');
  const [isOpen, setOpen] = useState(false);
  return (
    <Popover opened={isOpen} onChange={setOpen} position="top-start" trapFocus returnFocus={false}>
      <Popover.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t('answer.emoji')} onClick={() => setOpen(!isOpen)}>
          <Smile size={18} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('answer.emoji')} p={8}>
        <div className={classes.emoji}>
          {EMOJI.map((emoji) => (
            <button
              key={emoji}
              type="button"
              onClick={() => {
                setOpen(false);
                onChoose(emoji);
              }}
            >
              {emoji}
            </button>
          ))}
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
