/** Two rising notes when a sale is paid. A browser allows sound after the first touch, which every sale begins with. */
const NOTES_HZ = [660, 990];
const NOTE_SECONDS = 0.18;
const VOLUME = 0.25;

export function playPaid(): void {
  try {
    const context = new AudioContext();
    NOTES_HZ.forEach((hertz, at) => {
      const tone = context.createOscillator();
      const volume = context.createGain();
      const from = context.currentTime + at * NOTE_SECONDS;
      tone.frequency.value = hertz;
      volume.gain.setValueAtTime(VOLUME, from);
      volume.gain.exponentialRampToValueAtTime(0.001, from + 2 * NOTE_SECONDS);
      tone.connect(volume).connect(context.destination);
      tone.start(from);
      tone.stop(from + 2 * NOTE_SECONDS);
      if (at === NOTES_HZ.length - 1) tone.onended = () => void context.close();
    });
  } catch {
    // a device without sound shows the green screen all the same
  }
}
