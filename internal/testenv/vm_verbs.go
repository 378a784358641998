package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// VerbsDrivers are the Files of a virtual machine in which libibverbs is to find
// drivers, such as rxe. The library itself comes along with the program
// ibv_devinfo. Where a driver is missing the test fails as with Peer.
func VerbsDrivers(tb testing.TB, drivers ...string) map[string]string {
	tb.Helper()
	files := make(map[string]string)
	dir := filepath.Join(filepath.Dir(verbsLibrary(tb)), "libibverbs")
	for _, driver := range drivers {
		found, err := filepath.Glob(filepath.Join(dir, "lib"+driver+"-rdmav*.so"))
		if err != nil || len(found) == 0 {
			tb.Fatalf("libibverbs has no driver %s in %s: Debian's package ibverbs-providers has it", driver, dir)
		}
		config := filepath.Join("/etc/libibverbs.d", driver+".driver")
		files[found[0]], files[config] = found[0], config
	}
	return files
}

// verbsLibrary is the path of the libibverbs that ibv_devinfo runs with.
func verbsLibrary(tb testing.TB) string {
	tb.Helper()
	program := Peer(tb, "ibv_devinfo")
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(fields[0], "libibverbs.so") {
			// The library looks for drivers where it was built for, not where a
			// link to its directory is.
			library, err := filepath.EvalSymlinks(fields[2])
			if err != nil {
				tb.Fatal(err)
			}
			return library
		}
	}
	tb.Fatalf("%s runs without libibverbs: %s", program, out)
	return ""
}

// OnRXE runs the tests of this very program whose names match a pattern in a
// virtual machine that has a RoCE device of software, rxe0, on the interface d0
// with the address 10.9.8.1. The tests find the device's name in a variable of
// the environment. It returns what they printed, with -test.v; they may fail. The
// VM is what they need besides.
func OnRXE(tb testing.TB, vm VM, variable, pattern string) string {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	vm.Modules = append([]string{"crc32_generic", "dummy", "rdma_rxe", "ib_uverbs"}, vm.Modules...)
	vm.Programs = append([]string{program, "ip", "rdma", "ibv_devinfo"}, vm.Programs...)
	vm.Files = VerbsDrivers(tb, "rxe")
	// Without duplicate address detection, addresses are usable at once.
	vm.Script = `
for i in all default; do echo 0 >/proc/sys/net/ipv6/conf/$i/accept_dad; done
ip link add d0 type dummy
ip address add 10.9.8.1/24 dev d0
ip link set d0 up
ip link set d0 multicast on
ip route add 224.0.0.0/4 dev d0
rdma link add rxe0 type rxe netdev d0
` + vm.Script + `
` + variable + `=rxe0 ` + filepath.Base(program) + ` -test.run '` + pattern + `' -test.v 2>&1 || echo "status $?"`
	return vm.Run(tb)
}
