// The fonts of the theme would be another 300 kB; those of the system do as well.
export { default } from 'vitepress/theme-without-fonts';
