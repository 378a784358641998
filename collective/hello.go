package collective

import (
	"encoding/json"
	"fmt"
	"slices"
)

// version is of what ranks tell each other, and of the slots.
const version = 1

// hello is what a rank tells all others at the beginning.
type hello struct {
	Version int
	Rank    int
	Number  uint32 // of the group; rank 0's counts
	Way     Way
	Slots   int
	Chunk   int
	Roots   []int
	// Rings are those of all roots, one after the other; Haves a mark for each
	// root, and one that the group is ready; Tails a mark of each rank.
	Rings, Haves, Tails place
	// Endpoints are those of the queue pairs for each rank, empty where none is needed, and
	// Channels those of the channels.
	Endpoints [][]byte
	Channels  []channelHello
}

// channelHello are the words for the two channels with a rank.
type channelHello struct {
	Peer       int
	Send, Recv []byte
}

func (h *hello) encode() []byte {
	b, err := json.Marshal(h)
	if err != nil { // numbers and bytes can be encoded
		panic(err)
	}
	return b
}

// decodeHellos takes what all ranks told, and checks that they agree.
func decodeHellos(all [][]byte, mine *hello, size int) ([]hello, error) {
	if len(all) != size {
		return nil, fmt.Errorf("the exchange gave the words of %d ranks, not %d: %w", len(all), size, ErrInvalid)
	}
	hellos := make([]hello, size)
	for r, b := range all {
		h := &hellos[r]
		if err := json.Unmarshal(b, h); err != nil {
			return nil, fmt.Errorf("words of rank %d: %w", r, err)
		}
		if err := mine.fits(h, r, size); err != nil {
			return nil, fmt.Errorf("words of rank %d: %w", r, err)
		}
	}
	return hellos, nil
}

// fits tells whether another rank's words go with one's own.
func (h *hello) fits(other *hello, rank, size int) error {
	switch {
	case other.Version != h.Version:
		return fmt.Errorf("version %d, not %d: %w", other.Version, h.Version, ErrInvalid)
	case other.Rank != rank:
		return fmt.Errorf("it calls itself rank %d: %w", other.Rank, ErrInvalid)
	case other.Way != h.Way:
		return fmt.Errorf("broadcasts by %v there, by %v here: %w", other.Way, h.Way, ErrInvalid)
	case other.Slots != h.Slots || other.Chunk != h.Chunk:
		return fmt.Errorf("%d slots of %d bytes there, %d of %d here: %w", other.Slots, other.Chunk, h.Slots, h.Chunk, ErrInvalid)
	case !slices.Equal(other.Roots, h.Roots):
		return fmt.Errorf("another list of roots: %w", ErrInvalid)
	case len(other.Endpoints) != size:
		return fmt.Errorf("endpoints of %d ranks, not %d: %w", len(other.Endpoints), size, ErrInvalid)
	}
	return nil
}
