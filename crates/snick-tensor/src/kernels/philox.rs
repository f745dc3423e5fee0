//! Random numbers that depend on seeds alone: Philox 4x32 with ten rounds (Salmon and others, 2011).

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// The endless sequence of a key and a stream, as TensorFlow and OpenVINO count it: block after block of four numbers.
pub fn philox(key: u64, stream: u64) -> impl Iterator<Item = u32> {
    (0u64..).flat_map(move |n| block(key, stream, n))
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn block(key: u64, stream: u64, n: u64) -> [u32; 4] {
    let ([a, b], [c, d]) = (halves(n), halves(stream));
    let mut counter = [a, b, c, d];
    let mut key = halves(key);
    for _ in 0..ROUNDS {
        let [a, b, c, d] = counter;
        let [low, high] = halves(u64::from(a) * u64::from(MULTIPLIERS[0]));
        let [other_low, other_high] = halves(u64::from(c) * u64::from(MULTIPLIERS[1]));
        counter = [other_high ^ b ^ key[0], other_low, high ^ d ^ key[1], low];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // Of the authors' own tests.
        assert_eq!(block(0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(block(u64::MAX, u64::MAX, u64::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let first: Vec<u32> = philox(3, 4).take(5).collect();
        assert_eq!(first[4], block(3, 4, 1)[0]);
    }
}
