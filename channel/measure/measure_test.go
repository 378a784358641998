package measure

import (
	"testing"

	"heddle/channel"
)

// TestRows holds what is measured against what the kinds declare.
func TestRows(t *testing.T) {
	for _, k := range channel.Kinds() {
		row, err := Kind(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if row.HRT != k.HRT || row.Send != k.SendRequests || row.Recv != k.RecvRequests || row.Blocks != k.Blocking ||
			row.PassiveSender() != k.PassiveSender || row.PassiveReceiver() != k.PassiveReceiver ||
			row.Shared() != k.Senders || row.Copied != k.Copying {
			t.Errorf("%s: measured %+v, declared %+v", k.Name, row, k.Features)
		}
		if k.Batches && row.Batch <= 1 {
			t.Errorf("%s: %.1f messages a request, declared that it batches", k.Name, row.Batch)
		}
	}
}

// TestCrowds has the memory of a receiver be the same for any number of senders,
// or not, and a sender do nothing for any number of readers, or not.
func TestCrowds(t *testing.T) {
	for _, k := range channel.Kinds() {
		one, err := Senders(t.Context(), k, 1)
		if err != nil {
			t.Fatal(err)
		}
		many, err := Senders(t.Context(), k, 3)
		if err != nil {
			t.Fatal(err)
		}
		if k.Senders != (many.Memory < 2*one.Memory) {
			t.Errorf("%s: %d bytes for a sender, %d for 3, declared that it has many: %t", k.Name, one.Memory, many.Memory, k.Senders)
		}
		read, err := Readers(t.Context(), k, 3)
		if err != nil {
			t.Fatal(err)
		}
		if k.PassiveSender != (read.Send == 0) {
			t.Errorf("%s: %v requests of the sender, declared passive: %t", k.Name, read.Send, k.PassiveSender)
		}
	}
}
