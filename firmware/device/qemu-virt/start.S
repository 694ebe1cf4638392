// From power-on to run(): EL1, MMU off, interrupts masked, code in flash at 0.
  .section .text.start, "ax"
  .global _start
_start:
  // One processor is enough.
  mrs x0, mpidr_el1
  and x0, x0, #0xFF
  cbnz x0, park

  adrp x0, vectors
  add x0, x0, :lo12:vectors
  msr vbar_el1, x0
  ldr x0, =stack_top
  mov sp, x0

  // Variables: their first values lie behind the code. The linker script aligns all to 16.
  ldr x0, =data_begin
  ldr x1, =data_end
  ldr x2, =data_in_flash
1:
  cmp x0, x1
  b.hs 2f
  ldp x3, x4, [x2], #16
  stp x3, x4, [x0], #16
  b 1b
2:
  ldr x0, =bss_begin
  ldr x1, =bss_end
3:
  cmp x0, x1
  b.hs 4f
  stp xzr, xzr, [x0], #16
  b 3b
4:
  bl run

park:
  wfi
  b park

// No exception is expected. Each ends in fault(), on a fresh stack: the old one may be why.
  .balign 2048
vectors:
  .rept 16
  .balign 128
  b unexpected
  .endr
unexpected:
  ldr x0, =stack_top
  mov sp, x0
  mrs x0, esr_el1
  mrs x1, elr_el1
  bl fault
  b park
