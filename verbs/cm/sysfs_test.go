package cm

import (
	"errors"
	"testing"
	"testing/fstest"

	"heddle/ib"
	"heddle/verbs"
)

// TestDeviceOf: a node GUID names a device, or two of which one has the GID.
func TestDeviceOf(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	sys := fstest.MapFS{
		"rxe0/node_guid":           file("5054:00ff:fe12:3456"),
		"mlx5_0/node_guid":         file("0002:c903:0000:1234"),
		"mlx5_0/ports/1/gids/0":    file("fe80:0000:0000:0000:0002:c903:0000:1235"),
		"mlx5_2/node_guid":         file("0002:c903:0000:1234"),
		"mlx5_2/ports/1/gids/0":    file("fe80:0000:0000:0000:0002:c903:0000:1236"),
		"mlx5_2/ports/1/gids/1":    file("0000:0000:0000:0000:0000:ffff:0a09:0801"),
		"broken/node_guid":         file("?"),
		"broken/ports/1/gids/0":    file("?"),
		"mlx5_2/ports/2/gids/0":    file("fe80:0000:0000:0000:0002:c903:0000:1237"),
		"mlx5_0/ports/1/gids/junk": file("?"),
	}
	for _, test := range []struct {
		guid ib.GUID
		port uint8
		gid  string
		want string
	}{
		{0x505400fffe123456, 1, "fe80::77", "rxe0"},
		{0x0002c90300001234, 1, "fe80::2:c903:0:1235", "mlx5_0"},
		{0x0002c90300001234, 1, "::ffff:10.9.8.1", "mlx5_2"},
		{0x0002c90300001234, 2, "fe80::2:c903:0:1237", "mlx5_2"},
		{0x0002c90300001234, 2, "::ffff:10.9.8.1", ""},
		{7, 1, "fe80::1", ""},
	} {
		got, err := deviceOf(sys, test.guid, test.port, ib.MustParseGID(test.gid))
		if got != test.want || (err != nil) != (test.want == "") || err != nil && !errors.Is(err, verbs.ErrNoDevice) {
			t.Errorf("%v, port %d, %s: %q, %v, want %q", test.guid, test.port, test.gid, got, err, test.want)
		}
	}
}
